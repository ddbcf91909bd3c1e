//! The body of a capture, or of a dry run: its interface, and the account of its work.
//!
//! The account's lock is the only one of the crate under which work is done: allocations, calls of
//! the arena and of the driver. It is never entered twice. It is reached only through the body's
//! [`Capture`], and through the scopes and lent views that borrow from it. A body gets each of
//! these by a reference of any lifetime, so it cannot store one where a hook or a subscriber would
//! find it. The account holds no value of the user, and no other thread has it. A hook that
//! captures has its own account. The lock of the account is taken first; the arena's state and
//! `SHARES` are locked under it, and nothing is locked under those.

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
