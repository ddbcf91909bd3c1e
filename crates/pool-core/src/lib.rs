//! A state machine for adaptive memory pools that is generic over the kind of memory.
//!
//! A [`Pool`] stores a sequence of slots, and each slot holds a block of memory. A [`Scope`] is a
//! cursor into the pool's sequence of slots. The i-th call to [`acquire`](Scope::acquire) in a
//! scope uses the i-th slot after the enclosing scopes' slots, regardless of the element type.
//! Opening an inner scope does not move the outer scope's cursor, so no code has to run when the
//! inner scope ends. When the same code runs a second time, it does not allocate any memory. A loop
//! that calls [`keep`](Scope::keep) might need several passes before it stops allocating.
//!
//! Each kind of memory implements the [`PoolBackend`] trait. The `pool-cpu` crate implements the
//! backend for host memory. A [`DynamicPool`] with checked [`Handle`]s supports code whose
//! allocations do not follow lexical lifetimes, such as interpreters, autodiff tapes, and callers
//! in other languages. Array shapes of dynamic rank are stored in an N-way set-associative cache.
//!
//! ```
//! use pool_core::{Pool, PoolBackend, Scope};
//! # use pool_conformance::HeapBackend;
//!
//! /// Generic over the backend, and borrowing its temporaries from the caller's scope.
//! fn scratch<'s, B: PoolBackend>(scope: &Scope<'s, B>, n: usize) -> B::View<'s, f32> {
//!     scope.acquire_zeroed(n)
//! }
//!
//! let mut pool = Pool::<HeapBackend>::new(Default::default());
//! let mut scope = pool.scope();
//! let outer = scope.acquire_filled(4, 1.0_f32);
//! {
//!     let inner = scope.scope();
//!     let sum = scratch(&inner, 1);
//!     sum[0] = outer.iter().sum();
//!     assert_eq!(sum[0], 4.0);
//! } // `sum`'s slot is free again; `outer` is still here
//! outer[0] = 2.0;
//! ```
//!
//! The [`soundness`] module lists programs that the borrow checker rejects, along with the
//! resulting errors.
//!
//! The crate is `no_std` and requires `alloc`.
//!
//! # Features
//!
//! | feature | gives | costs |
//! |---|---|---|
//! | `allocator-api2` | [`Scope::allocator`] for maps, vectors and strings in a scope, and `PoolString` | allocator-api2 0.2, which hashbrown also uses |
//! | `nightly` | the same for the standard library's own collections, through its trait; enables `allocator-api2` | a nightly compiler |
//! | `std` | threads acquire and drop owned arrays without an atomic exchange | the standard library |
//! | `half` | `half::f16` and `half::bf16` are elements | half |
//! | `complex` | `num_complex::Complex` is an element | num-complex |
//! | `tracing` | spans for growth and trimming, and a warning when a pool grows past 512, 1024, 2048 … slots | tracing, without any cost on the hot path |

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(feature = "nightly", feature(allocator_api))]
#![no_std]

extern crate alloc;
#[cfg(any(test, feature = "std"))]
extern crate std;

// Layering: each module may import only the modules that are listed after its name. The
// `cargo xtask imports` command checks this list, and `cargo xtask imports --list` prints it.
//
// block_watch, busy, count, device, element, error, identity, reserve, slot_ref, soundness, threads, try_box, warning: nothing
// config: error
// lengths: error
// stats: device
// memory_checks: config
// nd_array: error, lengths
// shape_set: lengths
// view: element, error, nd_array
// backend: config, device, element, error, shape_set, slot_ref, stats, view
// nd_view: error, lengths, nd_array, view
// engine: backend, element, error, lengths, nd_array
// raw: backend, busy, config, count, element, error, identity, lengths, memory_checks, shape_set, slot_ref, stats, threads, try_box, warning
// scope: backend, config, stats
// described: backend, element, error, lengths, scope, shape_set, slot_ref
// pool: backend, config, error, scope, stats
// shape: engine, lengths, nd_array
// stacked: backend, device, element, raw, slot_ref
// acquire: backend, element, engine, error, scope, shape
// dynamic: backend, config, element, error, pool, scope, stats
// free_list: backend, pool
// host: backend, element, engine, error, nd_array, scope, shape
// stack: backend, busy, config, count, element, error, identity, lengths, memory_checks, shape_set, slot_ref, stacked, stats, threads, try_box, warning
// shared: backend, config, device, dynamic, element, error, host, identity, memory_checks, raw, scope, slot_ref, stacked, stats, try_box
// thread_list: backend, config, count, device, error, pool, reserve, scope, stats

mod acquire;
mod backend;
mod block_watch;
mod busy;
mod config;
mod count;
mod described;
mod device;
mod dynamic;
mod element;
mod engine;
mod error;
mod free_list;
mod host;
mod identity;
mod lengths;
mod memory_checks;
mod nd_array;
mod nd_view;
mod pool;
mod raw;
pub mod reserve;
mod scope;
mod shape;
mod shape_set;
mod shared;
mod slot_ref;
pub mod soundness;
mod stack;
mod stacked;
mod stats;
pub mod thread_list;
mod threads;
mod try_box;
mod view;
mod warning;

pub use acquire::{AcquireResult, NdArray};
#[cfg(feature = "allocator-api2")]
pub use allocator_api2;
pub use backend::{Advice, HostBackend, Layout, PoolBackend, Reuse};
pub use block_watch::BlockWatch;
pub use bytemuck;
pub use config::{Compaction, PoolConfig};
pub use described::{DescribedBlock, TakenMemory};
pub use device::Device;
pub use dynamic::{DynamicPool, Handle, Handles};
pub use element::{Element, HostElement, PodElement};
pub use error::{ConfigError, PoolError, ShapeError, ViewError, error_chain};
pub use free_list::FreeList;
#[cfg(feature = "half")]
pub use half;
pub use host::{Boxable, CapacityError, FixedVec, HostAcquireResult, HostArray, PoolBox, PoolVec};
#[cfg(feature = "allocator-api2")]
pub use host::{PoolString, ScopeAllocator};
pub use lengths::{DynamicShape, element_count};
pub use memory_checks::MemoryChecks;
pub use nd_view::NdView;
#[cfg(feature = "complex")]
pub use num_complex;
pub use pool::Pool;
pub use raw::Slots;
pub use scope::Scope;
pub use shape::{FixedShape, Shape};
pub use shared::{
    ContextSource, HostMemory, Owned, OwnedMemory, PooledMemory, SharedBackend, SharedHostBackend,
    SharedPool, TakeResult,
};
pub use slot_ref::SlotRef;
pub use stacked::{BlockOf, Stack, Stacked, StackedBackend};
pub use stats::{PoolStats, ReleaseReport};
pub use view::{LendView, PoolView, PoolViewMut};
pub use warning::{PoolWarning, WarningHook, set_warning_hook};
