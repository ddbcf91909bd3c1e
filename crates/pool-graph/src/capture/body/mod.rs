//! The body of a capture, or of a dry run: what it may do, and the account of what it did.

mod account;
mod account_scopes;
mod body_record;
mod call_site;
mod capture;
mod frontiers;
mod loan;
mod medium;
mod memory_use;
mod model;
mod names;
mod operations;
mod pools;
mod region;
mod scope_work;
mod scopes;
mod shared_account;
mod source;
mod span;
mod trace;
mod view;

pub(super) use account::Account;
pub(super) use body_record::BodyRecord;
pub use capture::Capture;
pub use loan::ViewLoan;
pub(super) use medium::LiveCapture;
pub use memory_use::Use;
pub(super) use model::Model;
pub use names::{CaptureStream, HostArgument};
pub(super) use region::Region;
pub(super) use span::{NodeOwner, Span};
pub(super) use trace::Trace;
pub use view::CaptureView;
