//! The product of a sparse matrix in compressed rows and a vector, a thread a row.

use crate::kernel::float_kernels;
use crate::module::module;
use crate::{FloatKernels, Module};

/// The PTX of these kernels.
pub const MODULE: Module = module!("sparse");

/// `to[i]` is the sum of `values[k] * x[columns[k]]` for `k` from `starts[i]` to before `starts[i + 1]`,
/// in this order.
///
/// Parameters: `values`, `columns` (`u32`), `starts` (`rows + 1` of `u32`), `x`, `to`, `rows`. Any
/// one-dimensional grid of any one-dimensional blocks; the output must not overlap an input.
pub const SPMV: FloatKernels = float_kernels!("spmv");
