//! Memory for captured CUDA graphs. A graph has the addresses of its memory in its nodes, so that
//! memory must stay where it is, and be nobody else's, for as long as the graph may be replayed.
//!
//! [`CUDAGraphMemoryPool`] is a thread-safe pool whose blocks stay; [`CudaArena`] is one buffer from
//! which a capture takes its memory by moving an offset. What a graph holds of either is a [`Lease`]:
//! as long as it lives, its memory is neither handed out nor freed, whatever becomes of the pool.
//!
//! Both take their memory from a [`MemorySource`]. That of a device is [`DeviceMemory`];
//! [`SyntheticMemory`] is addresses without memory, for tests and for planning without a GPU.
//!
//! ```
//! use pool_graph::{CUDAGraphMemoryPool, GraphPoolConfig, SyntheticMemory};
//!
//! let source = SyntheticMemory::new();
//! let pool = CUDAGraphMemoryPool::new(source.clone(), GraphPoolConfig::default());
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
//! With the feature `cuda`, a `CaptureSession` turns work into a `CapturedGraph` that owns what its nodes
//! name. A dry run of the work gives its footprint and a plan before memory is taken, and
//! [`verify_layout`] checks what came out against the nodes and edges of the graph. In the body,
//! `Capture::scope` gives the same `Scope<'_, Cuda>` as outside, with blocks of the capture's arena.
//! `CapturedGraph::update` gives a graph other parameters. Replays are fed through a `StagingPool` without stopping the
//! device.
//!
//! What each call does in each state is in `docs/graphs.md` of the repository.

mod arena;
mod block;
mod book;
mod bytes;
#[cfg(feature = "cuda")]
mod capture;
#[cfg(feature = "cuda")]
mod captured;
mod config;
mod device;
mod error;
mod growth;
mod lease;
mod pool;
mod request;
mod room;
mod source;
mod stats;
mod sync;
mod synthetic;
mod verify;

pub use arena::{ArenaPlan, ArenaPlanError, ArenaPolicy, ArenaRegion, ArenaStats, CudaArena};
pub use arena::{Divergence, Ended};
pub use block::{BlockId, BlockState, GraphMemoryBlock};
pub use book::Reset;
#[cfg(feature = "cuda")]
#[doc(hidden)]
pub use capture::DissectedCapture;
#[cfg(feature = "cuda")]
pub use capture::{
    Capture, CaptureError, CaptureMode, CaptureSession, CaptureStream, CaptureView, FailedCapture,
    Footprint, HostArgument, Lent, PreparedCapture, Probe, Use,
};
#[cfg(feature = "cuda")]
pub use captured::{
    CapturedGraph, NodeKind, ReadTicket, StagingConfig, StagingPool, UpdateReason, UpdateRefused,
};
pub use config::GraphPoolConfig;
pub use device::DeviceMemory;
pub use error::GraphMemoryError;
pub use lease::{Lease, LeasedRange};
pub use pool::{CUDAGraphMemoryPool, Disposal, GraphMemoryResult};
pub use source::{MemorySource, SOURCE_ALIGNMENT};
pub use stats::GraphPoolStats;
pub use synthetic::{SyntheticMemory, SyntheticRefusal};
pub use verify::{
    Access, GraphOrder, LaidOut, LayoutViolation, OrderEdge, Verified, verify_layout,
};
