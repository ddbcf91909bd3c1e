//! The body of a capture, or of a dry run: what it may do, and the account of what it did.

mod capture;
mod frontiers;
mod loan;
mod memory_use;
mod model;
mod names;
mod operations;
mod pools;
mod record;
mod recorded;
mod region;
mod scopes;
mod source;
mod span;
mod trace;
mod view;

pub use capture::Capture;
pub(super) use capture::Live;
pub use loan::ViewLoan;
pub use memory_use::Use;
pub(super) use model::Model;
pub use names::{CaptureStream, HostArgument};
pub(super) use recorded::Recorded;
pub(super) use region::Region;
pub(super) use span::{NodeOwner, Span};
pub(super) use trace::Trace;
pub use view::CaptureView;
