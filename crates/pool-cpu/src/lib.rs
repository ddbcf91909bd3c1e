//! Host memory for pools: the backend [`Cpu`].
//!
//! Blocks are aligned to 64 bytes, which is the size of a cache line and of the widest vector
//! register. On Linux, blocks of 2 MiB and more are mapped at a 2 MiB boundary, and request huge
//! pages from the system unless configured otherwise. On other systems and under Miri, all blocks
//! come from the global allocator.
//!
//! Views are plain slices. With the feature `ndarray`, a scope returns `ndarray` views of any shape
//! that `ndarray` accepts: see `AcquireArray` and `IntoNdarray`.
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
//! The crate is `no_std` with `alloc`. It builds for 32-bit microcontrollers; the repository checks
//! `thumbv7em-none-eabihf` and `riscv32imac-unknown-none-elf`. Blocks and slot tables come from the
//! global allocator while a pool grows, and never afterwards. A loop on a fixed buffer without a
//! heap therefore needs only a global allocator over a static. A bump allocator is enough: the test
//! `static_memory` of this crate contains one in forty lines. There is no backend over a static,
//! because it would provide only the blocks. The slot tables (2 KiB for 31 slots) would still be
//! allocated. If the buffer is full, the error is `PoolError::OutOfMemory`, or `Bookkeeping` if the
//! table does not fit.
//!
//! # Features
//!
//! | feature | gives | costs |
//! |---|---|---|
//! | `ndarray` | `ndarray` views: a fixed rank uses the hot path, and a dynamic rank uses the shape cache without a heap allocation | ndarray |
//!
//! The feature supports only `ndarray` 0.17. `acquire_array_dyn` lends a header that the pool
//! stores as `&mut ArrayRef`, a type that 0.16 does not have. The header is a type of the backend
//! (`PoolBackend::Descriptor`), so it can belong to only one version. For arrays by value, users of
//! another version need no feature: pass an acquired slice to `ArrayViewMut::from_shape(shape,
//! slice)` of that version.

#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;

// Layering: a module may import only the modules that are listed after its colon. The command
// `cargo xtask imports` checks these rows, and `cargo xtask imports --list` prints the current ones.
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
