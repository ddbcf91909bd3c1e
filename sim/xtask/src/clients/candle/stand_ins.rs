//! Headers of the host's C++ library that NVRTC lacks, reduced to what the kernels use.

use cuda_tasks::short_sum;

/// The compiler options of the crate's build script for a device with this compute capability.
pub(super) const OPTIONS: [&str; 2] = ["--gpu-architecture=compute_80", "--std=c++17"];

/// The names and texts of the headers.
pub(super) const HEADERS: [(&str, &str); 5] = [
    ("stdint.h", INTEGERS),
    ("math.h", MATHEMATICS),
    ("cmath", MATHEMATICS),
    ("cuda.h", ""),
    ("cuda/std/limits", LIMITS),
];

/// NVRTC 12.0 declares `__dp4a` without a body, so this header also defines it.
const INTEGERS: &str = r#"#pragma once
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef unsigned long uintptr_t;
__device__ inline int __dp4a(int a, int b, int c) {
    int sum;
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(c));
    return sum;
}
"#;

const MATHEMATICS: &str = "#pragma once
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT1_2 0.70710678118654752440
#define INFINITY __int_as_float(0x7f800000)
";

const LIMITS: &str = "#pragma once
namespace cuda { namespace std {
template <typename T> struct numeric_limits {
    static constexpr bool is_signed = T(-1) < T(0);
    static constexpr __device__ T lowest() { return is_signed ? T(T(1) << (sizeof(T) * 8 - 1)) : T(0); }
    static constexpr __device__ T max() { return T(~lowest()); }
};
} }
";

/// Returns everything that affects the PTX apart from its source.
pub(super) fn sum() -> String {
    let headers = HEADERS.iter().map(|(name, text)| format!("{name}\n{text}"));
    let all: Vec<String> = headers.chain(OPTIONS.map(str::to_owned)).collect();
    short_sum(&all.join("\n"))
}
