//! The [`Cpu`] backend for pools in host memory.
//!
//! Blocks are aligned to 64 bytes, which is the size of a cache line and of the widest vector
//! register. On Linux, blocks of 2 MiB or more are mapped at 2 MiB boundaries. Mapped blocks use
//! huge pages if the system provides them, unless the configuration disables huge pages. On other
//! systems and under Miri, all blocks are allocated with the global allocator.
//!
//! This backend's views are plain slices. With the `ndarray` feature enabled, a scope can return
//! `ndarray` views of any shape that `ndarray` accepts (see `AcquireArray` and `IntoNdarray`).
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
//! The crate is `no_std` and requires `alloc`. The crate supports 32-bit microcontrollers, and the
//! repository's checks build it for `thumbv7em-none-eabihf` and `riscv32imac-unknown-none-elf`. A
//! growing pool allocates blocks and slot tables with the global allocator. Once the pool stops
//! growing, it allocates no memory. On a system without a heap, the program needs only a global
//! allocator that manages a static buffer. A bump allocator is sufficient, and this crate's
//! `static_memory` test implements one in forty lines. Even a pool backend that uses a static
//! buffer would still need a global allocator. With such a backend, the pool would still use the
//! global allocator for its slot tables (2 KiB for 31 slots). If the static buffer is full, the
//! pool fails with `PoolError::OutOfMemory`, or with `PoolError::Bookkeeping` if there is no room
//! for a slot table.
//!
//! # Features
//!
//! | feature | gives | costs |
//! |---|---|---|
//! | `ndarray` | `ndarray` views, which use the hot path for a fixed rank, and the shape cache without a heap allocation for a dynamic rank | ndarray |
//!
//! The `ndarray` feature supports only version 0.17 of `ndarray`. `acquire_array_dyn` returns a
//! stored header as an `&mut ArrayRef`. `ndarray` 0.16 does not have the `ArrayRef` type. The
//! header is an associated type of the backend (`PoolBackend::Descriptor`), so it can belong to
//! only one `ndarray` version. To use another version of `ndarray`, disable this feature and pass
//! an acquired slice to `ArrayViewMut::from_shape(shape, slice)`.

#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;

// Layering: each module may import only the modules listed to the right of its name. The `cargo
// xtask imports` command checks this list, and `cargo xtask imports --list` prints it.
//
// barrier, block, error, into_ndarray: nothing
// header: error
// backend: barrier, block, error, header
// cpu_memory: backend, error, header
// shaped: cpu_memory, error
// array: cpu_memory, error, shaped

#[cfg(feature = "ndarray")]
mod array;
mod backend;
mod barrier;
mod block;
#[cfg(feature = "ndarray")]
mod cpu_memory;
mod error;
#[cfg(feature = "ndarray")]
mod header;
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
