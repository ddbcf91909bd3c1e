//! The body of a capture or a dry run: its interface, and the account of its work.
//!
//! The account's lock is the only lock of the crate that is held during work, such as allocations,
//! arena calls and driver calls. It is never locked recursively. Code reaches the account only
//! through the body's [`Capture`], and through the scopes and lent views that borrow from the
//! capture. A body receives each of these as a reference with an arbitrary lifetime, so it cannot
//! store one where a hook or a subscriber could find it. The account stores no user values, and
//! only one thread uses it. A hook that captures has its own account. The lock order is: first the
//! account, then the arena's state or `SHARES`. No other lock is taken while one of those two is
//! held.

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
mod workspace;

pub(super) use account::Account;
pub(super) use body_record::BodyRecord;
pub use capture::Capture;
pub(super) use frontiers::Frontiers;
pub use loan::{SharedLoan, ViewLoan};
pub(super) use medium::LiveCapture;
pub use memory_use::Use;
pub(super) use model::Model;
pub use names::{CaptureStream, HostArgument};
pub(super) use pools::config as pool_config;
pub(super) use region::Region;
pub(super) use scopes::end_uses;
pub(super) use span::{NodeOwner, Span};
pub(super) use trace::Trace;
pub use view::{CaptureView, ReadView, SharedView, Temporary};
pub use workspace::Workspace;
