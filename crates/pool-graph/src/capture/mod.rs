//! Captures: a session that turns the work of a body into a graph which owns its memory.

mod closed_world;
mod dissected;
pub(crate) mod driver;
mod error;
mod footprint;
mod frontiers;
mod lent;
mod model;
mod operations;
mod prepared;
mod record;
mod recorded;
mod region;
mod scope;
mod scoped;
mod session;
mod setting;
mod source;
mod span;
mod trace;
mod view;

#[doc(hidden)]
pub use dissected::DissectedCapture;
pub use driver::CaptureMode;
pub use error::CaptureError;
pub use footprint::{Footprint, Probe};
pub use lent::Lent;
pub use prepared::{FailedCapture, PreparedCapture};
pub use scope::{Capture, CaptureStream, HostArgument};
pub use session::CaptureSession;
pub(crate) use setting::{Examined, Pattern, Purpose, Setting};
pub use view::{CaptureView, Use};
