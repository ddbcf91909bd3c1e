//! The C++ code that surrounds the expressions.

use super::expression::{Expression, INPUTS};
use super::values::TYPES;

/// Stand-ins for the host headers that CUDA's headers include.
pub(super) const HEADERS: [(&str, &str); 1] = [("stdint.h", "")];

pub(super) const INCLUDES: &str = "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n";

/// Functions that the expressions call.
pub(super) const FUNCTIONS: &str = r#"
template <typename T, typename U> __device__ inline T as(U value) {
    static_assert(sizeof(T) == sizeof(U), "another size");
    T bits;
    memcpy(&bits, &value, sizeof(T));
    return bits;
}
__device__ inline float moderate(float value) {
    unsigned bits = isnan(value) ? 0 : as<unsigned>(value);
    return as<float>((bits & 0x807FFFFFu) | (125 + (bits >> 23 & 3)) << 23);
}
#define APPROXIMATE(NAME, LINE) \
    __device__ inline float NAME(float a) { float d; asm(LINE : "=f"(d) : "f"(a)); return d; }
#define OF_SIZE(NAME, LINE) \
    __device__ inline float NAME(float a) { float d; asm(LINE : "=f"(d) : "f"(fabsf(a))); return d; }
APPROXIMATE(ex2_approx, "ex2.approx.f32 %0, %1;")
APPROXIMATE(rcp_approx, "rcp.approx.f32 %0, %1;")
APPROXIMATE(tanh_approx, "tanh.approx.f32 %0, %1;")
OF_SIZE(lg2_approx, "lg2.approx.f32 %0, %1;")
OF_SIZE(rsqrt_approx, "rsqrt.approx.f32 %0, %1;")
OF_SIZE(sqrt_approx, "sqrt.approx.f32 %0, %1;")
"#;

/// Returns a kernel `k` in which each thread writes the bits of every expression.
pub(super) fn kernel(definitions: &str, batch: &[Expression<'_>], threads: usize) -> String {
    let mut text = format!("{INCLUDES}{FUNCTIONS}{definitions}");
    text.push_str(
        "extern \"C\" __global__ void k(unsigned long long *out, const unsigned long long *in) {\n",
    );
    text.push_str("int i = threadIdx.x;\n");
    text.push_str(&declarations());
    for (index, expression) in batch.iter().enumerate() {
        let Expression::Applied { operation, .. } = expression else { continue };
        let (name, bits) = (operation.result.names().0, bits_of(operation.result.bits()));
        let value = expression.text();
        text.push_str(&format!(
            "{{ {name} value = {value}; out[{index} * {threads} + i] = as<{bits}>(value); }}\n"
        ));
    }
    text.push_str("}\n");
    text
}

/// Returns declarations of the inputs of thread `i`, for a kernel with the parameter `in`.
pub(super) fn declarations() -> String {
    let mut text = String::new();
    for (place, ty) in TYPES.iter().enumerate() {
        for index in 0..INPUTS {
            let (name, at) = (ty.names().0, place * INPUTS + index);
            let bits = bits_of(ty.bits());
            let all = TYPES.len() * INPUTS;
            text.push_str(&format!(
                "{name} x{place}_{index} = as<{name}>(({bits})in[i * {all} + {at}]);\n"
            ));
        }
    }
    text
}

/// Returns the unsigned type of this width.
pub(super) fn bits_of(bits: u32) -> &'static str {
    match bits {
        16 => "unsigned short",
        32 => "unsigned",
        _ => "unsigned long long",
    }
}
