//! Implements the project's lowest layer, which calls the CUDA driver. This crate loads the
//! driver's library, wraps its functions with typed errors, owns the driver's resources, and
//! manages the queue of deferred frees.
//!
//! This crate is an internal part of `pool-cuda` and `pool-graph` and has no stable API. This crate
//! may change in any release without notice. `pool-cuda` and `pool-graph` re-export the types that
//! users need.
//!
//! The [`gone`] module explains why an error from a call that orders work is never ignored on the
//! basis of its code alone.
//!
//! If the host runs out of memory, functions return an error. Records of blocks, streams, and
//! shapes are allocated with fallible functions (see [`chain`]). Dropping a value never allocates
//! memory, because each resource already owns either an entry in the queue of [`deferred_frees`] or
//! a spare link. The process aborts if one of cudarc's internal allocations fails. The process also
//! aborts if the `Arc` for a device, a pool's context, or a staging pool cannot be allocated.
//!
//! ```
//! use pool_driver::error::CudaError;
//! use pool_driver::library;
//!
//! match library::require_driver(12_000) {
//!     Ok(()) => println!("a driver for CUDA 12.0 or newer"),
//!     Err(CudaError::NoLibrary) => println!("no driver"),
//!     Err(error) => println!("{error}"),
//! }
//! ```
//!
//! # Features
//!
//! | feature | gives | costs |
//! |---|---|---|
//! | `fallback-dynamic-loading` (default) | the same as in `pool-cuda` | nothing |
//! | `any-cuda-version` | the same as in `pool-cuda` | the build fails if cudarc does not know the toolkit |

#![cfg_attr(docsrs, feature(doc_cfg))]
#![expect(
    clippy::missing_errors_doc,
    reason = "a function returns the error of the driver's call that its text names; a section lists other errors"
)]

// Layering: a module may import only the modules that its row lists after the colon. The
// `cargo xtask imports` command checks this list, and `cargo xtask imports --list` prints it.
//
// capture_mode: nothing
// captures_under_way: nothing
// code: nothing
// deferred_free_kind: nothing
// reclaim: nothing
// error: code, reclaim
// answer: error
// chain: error
// context: answer, error
// library: answer, code, error
// default_stream: context, error
// entry_point: answer, error, library
// gone: answer, code, context, error
// calls: answer, capture_mode, captures_under_way, context, error, gone, reclaim
// deferred_frees: deferred_free_kind, error, gone
// handle: context, deferred_free_kind, deferred_frees, error
// versioned: answer, capture_mode, entry_point, error, library
// capture: answer, context, error, versioned
// stream_waits: calls, capture, captures_under_way
// event: answer, capture_mode, code, context, deferred_free_kind, deferred_frees, error, handle
// guard_event: answer, capture_mode, context, deferred_free_kind, deferred_frees, error, versioned
// host_buffer: calls, deferred_free_kind, deferred_frees, error
// memory_pool: answer, capture_mode, context, deferred_free_kind, deferred_frees, error, handle, versioned
// copy_completion: capture, code, error, event
// page_locked: calls, context, copy_completion, deferred_free_kind, deferred_frees, error, host_buffer

pub mod answer;
pub mod calls;
pub mod capture;
pub mod capture_mode;
pub mod captures_under_way;
pub mod chain;
pub mod code;
pub mod context;
mod copy_completion;
pub mod default_stream;
mod deferred_free_kind;
pub mod deferred_frees;
mod entry_point;
pub mod error;
pub mod event;
pub mod gone;
pub mod guard_event;
pub mod handle;
pub mod host_buffer;
pub mod library;
pub mod memory_pool;
pub mod page_locked;
pub mod reclaim;
pub mod stream_waits;
pub mod versioned;

pub use cudarc;
