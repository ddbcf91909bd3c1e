//! The body of a capture or a dry run. A body uses the [`Capture`] interface, and an account
//! records the body's work.
//!
//! The account's lock is the only lock in this crate that is held during allocations, arena calls,
//! and driver calls. No thread ever locks an account recursively. Code can access the account only
//! through the body's [`Capture`] and through scopes and lent views that borrow from it. A body
//! receives its `Capture` and its scopes only as references whose lifetime the body cannot choose.
//! As a result, a body cannot store these values in a variable that an allocator hook or a log
//! subscriber could access. The account stores no user values and is used by only one thread. If a
//! hook captures another graph, that capture has its own account. The account is always locked
//! before the arena's state or `SHARES`. A thread that has locked the arena's state or `SHARES`
//! acquires no other lock.

mod account;
mod account_scopes;
mod body_memory;
mod body_record;
mod call_site;
mod capture;
mod frontiers;
mod loan;
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
pub(super) use body_memory::LiveCapture;
pub(super) use body_record::BodyRecord;
pub use capture::Capture;
pub(super) use frontiers::Frontiers;
pub use loan::{SharedLoan, ViewLoan};
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
