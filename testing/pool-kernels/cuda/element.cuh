// What the kernels know about the types of elements, and the loop that all of them share.
//
// An element of 16 bits is stored as such and computed with in 32: it is widened when it is read,
// exactly, and rounded once when it is written. The compiler has no type for it without headers of
// the toolkit, so it is a word of 16 bits, and two instructions of PTX convert it.

#pragma once

using u32 = unsigned int;
using u64 = unsigned long long;
using i64 = long long;

struct f16 {
    unsigned short bits;
};

// `Wide` is what one computes in.
template <typename T> struct Element;

template <> struct Element<float> {
    using Wide = float;
};
template <> struct Element<double> {
    using Wide = double;
};
template <> struct Element<f16> {
    using Wide = float;
};

template <typename T> using Wide = typename Element<T>::Wide;

__device__ inline float widen(float value) { return value; }
__device__ inline double widen(double value) { return value; }
__device__ inline float widen(f16 value)
{
    float wide;
    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
    return wide;
}

template <typename T> __device__ inline T narrow(Wide<T> value) { return value; }
template <> __device__ inline f16 narrow<f16>(float value)
{
    f16 narrow;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(narrow.bits) : "f"(value));
    return narrow;
}

// The first element of this thread, and how far it is to its next: any grid covers any count.
__device__ inline u64 first_element() { return static_cast<u64>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ inline u64 elements_apart() { return static_cast<u64>(gridDim.x) * blockDim.x; }

// Calls a macro once for each type, with the suffix that its kernels have.
#define FOR_FLOATS(EACH) \
    EACH(float, f32)     \
    EACH(double, f64)

#define FOR_ELEMENTS(EACH) \
    FOR_FLOATS(EACH)       \
    EACH(f16, f16)
