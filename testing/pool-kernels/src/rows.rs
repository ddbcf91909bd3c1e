//! Softmax and layer norm over the rows of a row-major matrix, a block a row.
//!
//! Any one-dimensional grid; one-dimensional blocks of a multiple of 32 threads, at most 1024.
//! [`Launch::over_rows`](crate::Launch::over_rows) returns a good one. The output may be the same
//! array as the input.

use crate::kernel::kernels;
use crate::module::module;
use crate::{Kernels, Module};

/// The PTX of these kernels.
pub const MODULE: Module = module!("rows");

/// `to[i][j]` is e to the power of `from[i][j]`, divided by the sum of that over the row. A row
/// without an element above minus infinity, or with a NaN, becomes NaNs.
///
/// Parameters: `from`, `to`, `rows`, `columns`.
pub const SOFTMAX: Kernels = kernels!("softmax");

/// `to[i][j] = (from[i][j] - mean) / √(variance + epsilon) * factor[j] + shift[j]`, with mean and
/// variance (divided by `columns`) of the row.
///
/// Parameters: `from`, `factor` and `shift` (of `columns` elements), `to`, `rows`, `columns`, `epsilon`
/// (wide, above 0). Neither `factor` nor `shift` may overlap the output.
pub const LAYER_NORM: Kernels = kernels!("layer_norm");
