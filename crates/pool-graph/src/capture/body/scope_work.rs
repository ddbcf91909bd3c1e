//! The work that scopes and lent views add to one stream. The account records this work as a whole,
//! not operation by operation.

use super::call_site::CallSite;

/// The work that scopes and lent views add to one stream.
#[derive(Clone, Debug, Default)]
pub(super) struct ScopeWork {
    /// The number of open scopes and lent views on the stream.
    pub(super) guards: usize,
    /// The number of spans that had been completed when the current span began, and the stream's
    /// last nodes at that time.
    pub(super) begun: usize,
    pub(super) before: Vec<u64>,
    /// `true` if a scope is open on the stream.
    pub(super) scope: bool,
    /// The call that opened the most recent scope on the stream.
    pub(super) site: CallSite,
    /// The other streams that use memory from this stream's scopes or lent views.
    pub(super) touched: Vec<usize>,
}
