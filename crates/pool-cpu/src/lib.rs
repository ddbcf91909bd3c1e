//! Host memory for pools: the backend [`Cpu`].
//!
//! Blocks are aligned to 64 bytes, a cache line and the widest vector register. Blocks of 2 MiB and
//! more are mapped at a 2 MiB boundary and, unless configured otherwise, ask the system for huge
//! pages (on Linux; elsewhere and under Miri they come from the global allocator like all others).
//!
//! Views are plain slices. With the feature `ndarray`, a scope gives arrays of any shape that `ndarray` takes as
//! `ndarray` views: see `AcquireArray` and `IntoNdarray`.
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
//! # Without an operating system
//!
//! The crate is `no_std` with `alloc`: it builds for microcontrollers with 32 bits, which the checks of the
//! repository do (`thumbv7em-none-eabihf`, `riscv32imac-unknown-none-elf`). Blocks and slot tables come from the global
//! allocator, while a pool grows, and never afterwards. A loop on a fixed buffer without a heap therefore needs nothing
//! of the pool but a global allocator over a static, for which a bump allocator is enough: the test `static_memory` of
//! this crate is one, of forty lines. There is no backend over a static, because it would serve the blocks alone, and
//! the slot tables (2 KiB for 31 slots) would still be allocated. A full buffer is `PoolError::OutOfMemory`, or
//! `Bookkeeping` where it is the table that does not fit.
//!
//! # Features
//!
//! | feature | gives | costs |
//! |---|---|---|
//! | `ndarray` | views as `ndarray` arrays: fixed rank without any cost, dynamic rank from the shape cache without a heap allocation | ndarray |
//!
//! The feature is for `ndarray` 0.17 alone. `acquire_array_dyn` lends a header that the pool keeps as `&mut ArrayRef`, a
//! type that 0.16 does not have; and the header is a type of the backend (`PoolBackend::Descriptor`), of which there is
//! one. Users of another version need no feature for arrays by value: `ArrayViewMut::from_shape(shape, slice)` of their
//! version takes what a scope acquires.

#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;

// Layering: a module may import what follows its colon. `cargo xtask imports` checks it, `--list` prints it anew.
//
// barrier, block, error, into_ndarray: nothing
// header: error
// backend: barrier, block, error, header
// host_memory: backend, error, header
// shaped: error, host_memory
// array: error, host_memory, shaped

#[cfg(feature = "ndarray")]
mod array;
mod backend;
mod barrier;
mod block;
mod error;
#[cfg(feature = "ndarray")]
mod header;
#[cfg(feature = "ndarray")]
mod host_memory;
#[cfg(feature = "ndarray")]
mod into_ndarray;
#[cfg(feature = "ndarray")]
mod shaped;

#[cfg(feature = "ndarray")]
pub use array::{AcquireArray, ArrayResult};
pub use backend::Cpu;
#[doc(hidden)]
pub use barrier::barrier_on_all_threads;
pub use error::CpuError;
#[cfg(feature = "ndarray")]
pub use into_ndarray::IntoNdarray;
#[cfg(feature = "ndarray")]
pub use ndarray;
