//! Captures: a session that turns the work of a body into a graph which owns its memory.

pub(crate) mod driver;
mod error;
mod footprint;
mod frontiers;
mod model;
mod operations;
mod prepared;
mod region;
mod scope;
mod session;
mod trace;
mod view;

pub use driver::CaptureMode;
pub use error::CaptureError;
pub use footprint::{Footprint, Probe};
pub use prepared::PreparedCapture;
pub use scope::{Capture, CaptureStream, HostArgument};
pub use session::CaptureSession;
pub use view::{CaptureView, Use};
