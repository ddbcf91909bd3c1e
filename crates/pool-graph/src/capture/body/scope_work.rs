//! The work of scopes and lent views on one stream, as an account sees it while it runs.

use super::call_site::CallSite;

/// The work of scopes and lent views on one stream.
#[derive(Clone, Debug, Default)]
pub(super) struct ScopeWork {
    /// The number of scopes and lent views.
    pub(super) guards: usize,
    /// The number of completed spans when the one of this work began, and the stream's last nodes
    /// then.
    pub(super) begun: usize,
    pub(super) before: Vec<u64>,
    /// `true` if one of the guards is a scope's.
    pub(super) scope: bool,
    /// The call that opened the last scope.
    pub(super) site: CallSite,
    /// Other streams that got memory of the scopes and views.
    pub(super) touched: Vec<usize>,
}
