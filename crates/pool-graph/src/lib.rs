//! Memory for captured CUDA graphs. The nodes of a graph contain the addresses of its memory. So
//! that memory must stay in place, without another owner, for as long as the graph may be replayed.
//!
//! [`CUDAGraphMemoryPool`] is a thread-safe pool whose blocks stay in place. [`CudaArena`] is one
//! buffer from which a capture takes its memory by moving an offset. A [`Lease`] is a graph's hold
//! on memory of either: while it lives, its memory is neither reused nor freed, even after the
//! pool's end.
//!
//! Both take their memory from a [`MemorySource`]. That of a device is [`DeviceMemory`];
//! [`SyntheticMemory`] is addresses without memory, for tests and for planning without a GPU.
//!
//! ```
//! use pool_graph::{CUDAGraphMemoryPool, GraphPoolConfig, SyntheticMemory};
//!
//! let source = SyntheticMemory::new();
//! let pool = CUDAGraphMemoryPool::new(source.clone());
//! assert_eq!(pool.allocated_bytes(), 512 << 20);
//!
//! let block = pool.allocate(1000)?;
//! let lease = pool.lease(&[block.id()])?; // what a captured graph owns
//! drop(pool); // the graph's memory stays …
//! assert_eq!(source.held(), 16 << 20);
//! drop(lease); // … until the graph is gone
//! assert_eq!(source.held(), 0);
//! # Ok::<(), pool_graph::GraphMemoryError<pool_graph::SyntheticRefusal>>(())
//! ```
//!
//! With the feature `cuda`, a `CaptureSession` turns work into a `CapturedGraph` that owns the
//! memory of its nodes. A dry run of the work returns its footprint and a plan before any
//! allocation, and [`verify_layout`] checks the result against the nodes and edges of the graph. In
//! the body, `Capture::scope` gives the same `Scope<'_, Cuda>` as outside, with blocks of the
//! capture's arena. `CapturedGraph::update` sets other parameters in a graph. A `StagingPool` feeds
//! replays without stopping the device.
//!
//! `docs/graphs.md` of the repository lists the effect of each call in each state.
//!
//! # Features
//!
//! | feature | gives | costs |
//! |---|---|---|
//! | `cuda` (default) | `DeviceMemory`, arenas on streams, captures and their graphs, for drivers of CUDA 12.3 and newer | pool-cuda with cudarc |
//! | `any-cuda-version` | cudarc finds the version of its bindings, as with the feature of that name of `pool-cuda` | a toolkit that cudarc does not know is an error of the build |
//! | `record` | `Probe::record` and `CapturedGraph::record`: temporaries, their order, plan and callers as a file for `pool-plan` | serde and serde_json |

#![cfg_attr(docsrs, feature(doc_cfg))]

// Layering: a module may import what follows its colon. `cargo xtask imports` checks it, `--list` prints it anew.
//
// base, verify: nothing
// book: base
// driver: verify
// source: base
// arena: base, source
// pool: base, book, source
// lease: arena, base, pool, source
// capture: arena, base, driver, lease, source, verify

mod arena;
mod base;
mod book;
#[cfg(feature = "cuda")]
mod capture;
#[cfg(feature = "cuda")]
mod driver;
mod lease;
mod pool;
mod source;
mod verify;

pub use arena::{ArenaPlan, ArenaPlanError, ArenaPolicy, ArenaRegion, ArenaStats, CudaArena};
pub use arena::{Deallocation, Divergence};
pub use base::block::{BlockId, BlockState, GraphMemoryBlock};
pub use base::error::GraphMemoryError;
pub use base::range::LeasedRange;
pub use base::request::{BlockLayout, SOURCE_ALIGNMENT};
pub use base::shortage::ArenaShortage;
pub use book::{GraphPoolStats, Reset};
#[cfg(feature = "cuda")]
#[doc(hidden)]
pub use capture::UnverifiedCapture;
#[cfg(feature = "cuda")]
pub use capture::{
    Capture, CaptureError, CaptureSession, CaptureStream, CaptureView, CapturedGraph,
    FailedCapture, Footprint, HostArgument, KeptMemory, KeptMemoryMut, OwnedSlice, OwnedSliceMut,
    OwnedSource, OwnedSourceMut, PreparedCapture, Probe, ReadTicket, ReadView, SharedLoan,
    SharedView, StagingConfig, StagingPool, Temporary, TemporaryName, Use, ViewLoan, Workspace,
};
#[cfg(feature = "cuda")]
pub use driver::{CaptureMode, NodeKind, UnreadableReason, UpdateReason, UpdateRefusal};
pub use lease::Lease;
pub use pool::{CUDAGraphMemoryPool, Disposal, GraphPoolConfig};
#[cfg(feature = "record")]
pub use pool_plan::{Caller, GraphRecord};
pub use source::{
    DeviceMemory, GraphMemoryResult, MemorySource, SyntheticMemory, SyntheticRefusal,
};
pub use verify::{
    Access, GraphOrder, LayoutViolation, OrderEdge, RegionLayout, Verification, verify_layout,
};
