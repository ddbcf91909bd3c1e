//! Kernels that compute each element from those at the same place.
//!
//! All run under any one-dimensional grid of any one-dimensional blocks;
//! [`Launch::over_elements`](crate::Launch::over_elements) returns a good one. An output may be the
//! same array as an input, and must not overlap one otherwise.

use crate::kernel::{float_kernels, kernels};
use crate::module::module;
use crate::{FloatKernels, Kernels, Module};

/// The PTX of these kernels.
pub const MODULE: Module = module!("elementwise");

/// `to[i] = value`, rounded to the type of elements.
///
/// Parameters: `to`, `value` (wide), `count`.
pub const FILL: Kernels = kernels!("fill");

/// `to[i] = from[i]`, bit by bit.
///
/// Parameters: `from`, `to`, `count`.
pub const COPY: Kernels = kernels!("copy");

/// `y[i] = factor * x[i] + y[i]` with one rounding (and one more to 16 bits).
///
/// Parameters: `factor` (wide), `x`, `y`, `count`.
pub const AXPY: Kernels = kernels!("axpy");

/// `x[i] = factor * x[i]`.
///
/// Parameters: `factor` (wide), `x`, `count`.
pub const SCALE: Kernels = kernels!("scale");

/// `to[i] = x[i] + y[i]`.
///
/// Parameters: `x`, `y`, `to`, `count`.
pub const ADD: Kernels = kernels!("add");

/// `to[i] = x[i] * y[i]`.
///
/// Parameters: `x`, `y`, `to`, `count`.
pub const MUL: Kernels = kernels!("mul");

/// `to[i]` is e to the power of `x[i]`, by CUDA's `expf` or `exp` (2 and 1 units in the last place).
///
/// Parameters: `x`, `to`, `count`.
pub const EXP: Kernels = kernels!("exp");

/// `to[i]` is `x[i]`, or 0 where that is below 0. NaN stays NaN.
///
/// Parameters: `x`, `to`, `count`.
pub const RELU: Kernels = kernels!("relu");

/// `y[i] = sign * (*numerator / *denominator) * x[i] + y[i]`: a step of an iteration whose scalars
/// never leave the device.
///
/// Parameters: `numerator` and `denominator` (pointers to one number each), `sign` (1 or -1), `x`, `y`,
/// `count`.
pub const AXPY_RATIO: FloatKernels = float_kernels!("axpy_ratio");

/// `y[i] = x[i] + (*numerator / *denominator) * y[i]`.
///
/// Parameters: `numerator` and `denominator` (pointers to one number each), `x`, `y`, `count`.
pub const XPAY_RATIO: FloatKernels = float_kernels!("xpay_ratio");
