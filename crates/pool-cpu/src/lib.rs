//! Host memory for pools: the backend [`Cpu`].
//!
//! Blocks are aligned to 64 bytes, a cache line and the widest vector register. Blocks of 2 MiB and
//! more are mapped at a 2 MiB boundary. Unless configured otherwise, they request huge pages from
//! the system, on Linux. Elsewhere and under Miri they come from the global allocator like all
//! others.
//!
//! Views are plain slices. With the feature `ndarray`, a scope returns arrays of any shape that
//! `ndarray` takes as `ndarray` views: see `AcquireArray` and `IntoNdarray`.
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
//! The crate is `no_std` with `alloc`. It builds for microcontrollers with 32 bits; the repository
//! checks `thumbv7em-none-eabihf` and `riscv32imac-unknown-none-elf`. Blocks and slot tables come
//! from the global allocator while a pool grows, and never afterwards. So a loop on a fixed buffer
//! without a heap needs only a global allocator over a static. A bump allocator is enough: the test
//! `static_memory` of this crate has one of forty lines. There is no backend over a static: it
//! would serve the blocks alone, and the slot tables (2 KiB for 31 slots) would still be allocated.
//! A full buffer is `PoolError::OutOfMemory`, or `Bookkeeping` if the table does not fit.
//!
//! # Features
//!
//! | feature | gives | costs |
//! |---|---|---|
//! | `ndarray` | views as `ndarray` arrays: fixed rank by the hot path, dynamic rank from the shape cache without a heap allocation | ndarray |
//!
//! The feature supports only `ndarray` 0.17. `acquire_array_dyn` lends a header that the pool keeps
//! as `&mut ArrayRef`, a type that 0.16 does not have. The header is a type of the backend
//! (`PoolBackend::Descriptor`), which has only one. Users of another version need no feature for
//! arrays by value: `ArrayViewMut::from_shape(shape, slice)` of their version takes an acquired
//! slice.

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
