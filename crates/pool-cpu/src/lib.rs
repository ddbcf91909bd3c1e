//! Host memory for pools: the backend [`Cpu`].
//!
//! Blocks are aligned to 64 bytes, a cache line and the widest vector register. Blocks of 2 MiB and
//! more are mapped at a 2 MiB boundary and, unless configured otherwise, ask the system for huge
//! pages (on Linux; elsewhere and under Miri they come from the global allocator like all others).
//!
//! Views are plain slices. With the feature `ndarray`, arrays of any rank become `ndarray` views:
//! see `IntoNdarray` and `AcquireArray`.
//!
//! ```
//! use pool_core::Pool;
//! use pool_cpu::Cpu;
//!
//! let mut pool = Pool::<Cpu>::new(());
//! let scope = pool.scope();
//! let x: &mut [f64] = scope.acquire_filled(1000, 1.0);
//! assert_eq!(x.iter().sum::<f64>(), 1000.0);
//! assert_eq!(x.as_ptr() as usize % 64, 0);
//! ```
//!
//! # Features
//!
//! | feature | gives | costs |
//! |---|---|---|
//! | `ndarray` | views as `ndarray` arrays: fixed rank without any cost, dynamic rank from the shape cache without a heap allocation | ndarray |

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "ndarray")]
mod array;
mod backend;
mod block;
mod error;
#[cfg(feature = "ndarray")]
mod header;

#[cfg(feature = "ndarray")]
pub use array::{AcquireArray, IntoNdarray};
pub use backend::Cpu;
pub use error::CpuError;
#[cfg(feature = "ndarray")]
pub use ndarray;
