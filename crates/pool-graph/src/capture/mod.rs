//! Captures: a session that turns the work of a body into a graph which owns its memory.

mod body;
mod closed_world;
mod copy_buffers;
mod error;
mod footprint;
mod graph;
mod leftovers;
mod memory;
mod prepared;
#[cfg(feature = "record")]
mod record;
mod registry;
mod resources;
mod session;
mod setup;
mod sharing;
mod temporary_name;
mod unverified;

pub use body::{Capture, CaptureStream, CaptureView, HostArgument, Use, ViewLoan};
pub use error::CaptureError;
pub use footprint::{Footprint, Probe};
pub use graph::{CapturedGraph, ReadTicket, StagingConfig, StagingPool};
pub use prepared::{FailedCapture, PreparedCapture};
pub use session::CaptureSession;
pub use temporary_name::TemporaryName;
#[doc(hidden)]
pub use unverified::UnverifiedCapture;
