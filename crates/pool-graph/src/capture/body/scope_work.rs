//! The work of scopes and lent views on one stream, as the account sees it while that work runs.

use super::call_site::CallSite;

/// The work of scopes and lent views on one stream.
#[derive(Clone, Debug, Default)]
pub(super) struct ScopeWork {
    /// The number of open scopes and lent views.
    pub(super) guards: usize,
    /// The number of completed spans when the current span began, and the stream's last nodes at
    /// that time.
    pub(super) begun: usize,
    pub(super) before: Vec<u64>,
    /// `true` if one of the guards belongs to a scope.
    pub(super) scope: bool,
    /// The call that opened the last scope.
    pub(super) site: CallSite,
    /// The other streams that received memory from the scopes and views.
    pub(super) touched: Vec<usize>,
}
