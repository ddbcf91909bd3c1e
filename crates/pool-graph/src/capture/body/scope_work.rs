//! What scopes and lent views do on one stream, as far as an account knows of it while they are there.

use super::call_site::CallSite;

/// The work of scopes and lent views on one stream.
#[derive(Clone, Debug, Default)]
pub(super) struct ScopeWork {
    /// How many scopes and lent views there are.
    pub(super) guards: usize,
    /// How many spans were over when the one of this work began, and where the stream stood then.
    pub(super) begun: usize,
    pub(super) before: Vec<u64>,
    /// Whether one of the guards is that of a scope.
    pub(super) scope: bool,
    /// Who opened the last scope.
    pub(super) site: CallSite,
    /// Other streams that were given memory of the scopes and views.
    pub(super) touched: Vec<usize>,
}
