//! Sums and dot products, added to a number in device memory.
//!
//! The number is of the wide type and must be initialised, to 0 or to the number to add to. Blocks
//! add to it in the order of their execution, so the last bits may differ between runs.
//!
//! Any one-dimensional grid; one-dimensional blocks of a multiple of 32 threads, at most 1024.
//! [`Launch::over_elements`](crate::Launch::over_elements) returns a good one.

use crate::kernel::kernels;
use crate::module::module;
use crate::{Kernels, Module};

/// The PTX of these kernels.
pub const MODULE: Module = module!("reduction");

/// `*to += x[0] + x[1] + …`
///
/// Parameters: `x`, `to` (a pointer to a wide number), `count`.
pub const SUM: Kernels = kernels!("sum");

/// `*to += x[0] * y[0] + x[1] * y[1] + …`
///
/// Parameters: `x`, `y`, `to` (a pointer to a wide number), `count`.
pub const DOT: Kernels = kernels!("dot");
