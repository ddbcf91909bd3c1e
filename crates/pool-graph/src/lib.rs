//! Memory for captured CUDA graphs. A captured graph's nodes contain memory addresses. The memory
//! at these addresses must therefore stay in place and must not be reused for as long as the graph
//! may be replayed.
//!
//! [`CUDAGraphMemoryPool`] is a thread-safe pool whose blocks stay at their addresses.
//! [`CudaArena`] is a single buffer. A capture allocates from the arena by advancing an offset. A
//! [`Lease`] keeps blocks or an arena alive for a graph. Until a lease is dropped, the leased
//! memory is neither reused nor freed, even if the pool or arena has been dropped.
//!
//! Pools and arenas request their memory from a [`MemorySource`]. [`DeviceMemory`] allocates memory
//! on a GPU. [`SyntheticMemory`] returns addresses that do not refer to real memory. This source is
//! useful for tests and for planning without a GPU.
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
//! With the `cuda` feature enabled, a `CaptureSession` captures work into a `CapturedGraph`, which
//! owns the memory that its nodes use. A dry run determines how much memory the work needs and
//! computes a plan before any memory is allocated. [`verify_layout`] checks the resulting layout
//! against the graph's nodes and edges. Inside a capture, `Capture::scope` provides the same
//! `Scope<'_, Cuda>` that eager code uses, but with blocks from the capture's arena.
//! `CapturedGraph::update` changes the parameters of a graph's nodes. A `StagingPool` transfers
//! data into and out of replays without making the host wait for the device.
//!
//! `docs/graphs.md` in the repository describes the effect of each call in each state of a capture.
//!
//! # Features
//!
//! | feature | gives | costs |
//! |---|---|---|
//! | `cuda` (default) | `DeviceMemory`, arenas on streams, captures and their graphs, for drivers that support CUDA 12.3 or newer | a dependency on pool-cuda, which uses cudarc |
//! | `any-cuda-version` | cudarc detects the CUDA version for its bindings, like the feature of the same name in `pool-cuda` | a toolkit that cudarc does not know fails the build |
//! | `record` | `Probe::record` and `CapturedGraph::record`, which write temporaries, their order, plan and callers to a file for `pool-plan` | a dependency on serde and serde_json |

#![cfg_attr(docsrs, feature(doc_cfg))]

// Layering: the list below names the modules that each module may import. `cargo xtask imports`
// checks this list, and `cargo xtask imports --list` prints it.
//
// base, verify: nothing
// ledger: base
// driver: verify
// source: base
// arena: base, source
// pool: base, ledger, source
// lease: arena, base, pool, source
// capture: arena, base, driver, lease, source, verify

mod arena;
mod base;
#[cfg(feature = "cuda")]
mod capture;
#[cfg(feature = "cuda")]
mod driver;
mod lease;
mod ledger;
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
pub use ledger::{GraphPoolStats, Reset};
pub use pool::{CUDAGraphMemoryPool, Disposal, GraphPoolConfig};
#[cfg(feature = "record")]
pub use pool_plan::{Caller, GraphRecord};
pub use source::{
    DeviceMemory, GraphMemoryResult, MemorySource, SyntheticMemory, SyntheticRefusal,
};
pub use verify::{
    GraphOrder, LayoutViolation, NodeAccess, OrderEdge, RegionLayout, Verification, verify_layout,
};
