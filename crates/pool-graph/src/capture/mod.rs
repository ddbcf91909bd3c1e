//! The code that captures CUDA work into graphs. A session runs a body and creates a graph that
//! owns the memory its nodes use.

// Layering: the list below names the modules that each module may import. `cargo xtask imports`
// checks this list, and `cargo xtask imports --list` prints it.
//
// copy_buffers, deferred_destruction, invalidation, ladder, temporary_name: nothing
// error: invalidation, temporary_name
// owned_memory, registry, sharing: error
// memory: error, owned_memory, registry
// body: deferred_destruction, error, memory, owned_memory, sharing
// owned_layout: body, error
// resources: memory, registry
// closed_world: body, error, memory
// retired_graph: copy_buffers, deferred_destruction, error, registry, resources, sharing
// record: body, error
// footprint: body, error, ladder, record
// setup: body, closed_world, error, footprint, owned_layout, record, resources, retired_graph, sharing, temporary_name
// graph: body, copy_buffers, error, footprint, memory, record, registry, resources, retired_graph, setup, sharing
// prepared: body, copy_buffers, error, graph, retired_graph, setup
// session: body, error, footprint, graph, memory, owned_memory, prepared, registry, resources, setup
// unverified: body, error, prepared, setup

mod body;
mod closed_world;
mod copy_buffers;
mod deferred_destruction;
mod error;
mod footprint;
mod graph;
mod invalidation;
mod ladder;
mod memory;
mod owned_layout;
mod owned_memory;
mod prepared;
#[cfg(feature = "record")]
mod record;
mod registry;
mod resources;
mod retired_graph;
mod session;
mod setup;
mod sharing;
mod temporary_name;
mod unverified;

pub use body::{
    Capture, CaptureStream, CaptureView, HostArgument, ReadView, SharedLoan, SharedView, Temporary,
    Use, ViewLoan, Workspace,
};
pub use error::CaptureError;
pub use footprint::{Footprint, Probe};
pub use graph::{CapturedGraph, ReadTicket, StagingConfig, StagingPool};
pub use memory::{KeptMemory, KeptMemoryMut};
pub use owned_memory::{OwnedSlice, OwnedSliceMut, OwnedSource, OwnedSourceMut};
pub use prepared::{FailedCapture, PreparedCapture};
pub use session::CaptureSession;
pub use temporary_name::TemporaryName;
#[doc(hidden)]
pub use unverified::UnverifiedCapture;
