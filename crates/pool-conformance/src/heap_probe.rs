//! The probe for the [`HeapBackend`].

use crate::heap::HeapBackend;
use crate::ledger::Ledger;
use crate::probe::{BackendProbe, SkipReason};

/// The probe for the [`HeapBackend`]. Each context is a clone of one ledger, so all contexts share
/// it.
#[derive(Clone, Debug, Default)]
pub struct HeapProbe {
    /// The ledger for the blocks of all contexts.
    pub ledger: Ledger,
}

impl BackendProbe for HeapProbe {
    type Backend = HeapBackend;

    fn context(&self) -> Ledger {
        self.ledger.clone()
    }

    crate::slice_access!();

    fn accounting(&self) -> Result<&Ledger, SkipReason> {
        Ok(&self.ledger)
    }

    fn refusal(&self) -> Result<&Ledger, SkipReason> {
        Ok(&self.ledger)
    }
}
