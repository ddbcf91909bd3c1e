//! Operations of a text encoder beside a product. Rows by index, products of parts of arrays, the
//! Gaussian error linear unit, and softmax of the beginnings of rows. Layer norm of a sum, and
//! means of rows at length 1.
//!
//! An output must not overlap an input, except for a parameter named `numbers`, which is both.

use crate::kernel::float_kernels;
use crate::module::module;
use crate::{FloatKernels, Module};

/// The PTX of these kernels.
pub const MODULE: Module = module!("transformer");

/// `to[i][j] += table[indices[i]][j]`, if the table has such a row.
///
/// Parameters: `table`, `indices` (`u32`), `to`, `rows` (of `to`), `columns`, `table_rows`. Any one-dimensional grid of
/// any one-dimensional blocks.
pub const ADD_ROWS: FloatKernels = float_kernels!("add_rows");

/// `to[i][j] = factor * sum + bias[j]`, for each of `count` matrices. The sum is that of
/// `left[i][k] * right[k][j]`, or, with `is_turned`, of `left[i][k] * right[j][k]`. The numbers of
/// a row are contiguous.
///
/// Parameters: `left`, `right`, `bias` (null for none), `to`, `count`, `rows`, `columns`, `inner`.
/// Then, in elements, `left_row` and `left_matrix` (from one to the next), `right_row`,
/// `right_matrix`, `to_row`, `to_matrix`. Then `is_turned` (`u64`) and `factor`. Any grid; blocks
/// of (16, 16): [`Launch::over_product`](crate::Launch::over_product), with `count` as the grid's z
/// if there are few.
pub const PRODUCTS: FloatKernels = float_kernels!("products");

/// `x = x * Φ(x)` for each number, with the distribution function of the normal distribution.
///
/// Parameters: `numbers`, `count`. Any one-dimensional grid of any one-dimensional blocks.
pub const GELU: FloatKernels = float_kernels!("gelu");

/// The first `*length` numbers of each row become their softmax, and the others 0.
///
/// Parameters: `numbers`, `length` (one `u32`), `rows`, `columns`. Launched as [`SOFTMAX`](crate::rows::SOFTMAX).
pub const SOFTMAX_BEGINNING: FloatKernels = float_kernels!("softmax_beginning");

/// Same as [`LAYER_NORM`](crate::rows::LAYER_NORM), of the sum of `numbers` and `update`, in place.
///
/// Parameters: `update`, `factor` and `shift` (of `columns` elements), `numbers`, `rows`,
/// `columns`, `epsilon` (above 0). It is launched like that kernel.
pub const ADD_LAYER_NORM: FloatKernels = float_kernels!("add_layer_norm");

/// Row s of `to` is the mean of the first `lengths[s]` rows of sequence s, divided by its length.
///
/// Parameters: `from` (`sequences` of `rows_of_each` rows), `lengths` (`u32`), `to`, `sequences`, `rows_of_each`,
/// `columns`. Launched as [`SOFTMAX`](crate::rows::SOFTMAX), with the sequences as rows.
pub const UNIT_MEANS: FloatKernels = float_kernels!("unit_means");
