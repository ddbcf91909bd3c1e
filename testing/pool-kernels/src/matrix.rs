//! The product and the transpose of row-major matrices, a tile in shared memory at a time.
//!
//! The grid is two-dimensional and arbitrary; the blocks are fixed. An output must not overlap an
//! input. The product is precise enough for tests and examples, and not fast: a thread computes one
//! element, and tensor cores are not used.

use crate::kernel::kernels;
use crate::module::module;
use crate::{Kernels, Module};

/// The PTX of these kernels.
pub const MODULE: Module = module!("matrix");

/// `to = left * right`: `rows` × `inner` times `inner` × `columns`. Sums are wide, and 0 if `inner`
/// is 0.
///
/// Parameters: `left`, `right`, `to`, `rows`, `columns`, `inner`. Blocks of (16, 16):
/// [`Launch::over_product`](crate::Launch::over_product).
pub const MATMUL: Kernels = kernels!("matmul");

/// `to[j][i] = from[i][j]`, bit by bit; `from` is `rows` × `columns`.
///
/// Parameters: `from`, `to`, `rows`, `columns`. Blocks of (32, 8):
/// [`Launch::over_transpose`](crate::Launch::over_transpose).
pub const TRANSPOSE: Kernels = kernels!("transpose");
