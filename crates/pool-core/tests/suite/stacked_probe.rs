//! The probe of stacked heap memory.

use pool_conformance::{BackendProbe, HeapBackend, Ledger, SkipReason, slice_access};
use pool_core::Stacked;

/// The probe of stacked heap memory: all its contexts share one ledger.
#[derive(Clone, Debug, Default)]
pub(crate) struct StackedProbe {
    pub(crate) ledger: Ledger,
}

impl BackendProbe for StackedProbe {
    type Backend = Stacked<HeapBackend>;

    fn context(&self) -> Ledger {
        self.ledger.clone()
    }

    slice_access!();

    fn accounting(&self) -> Result<&Ledger, SkipReason> {
        Ok(&self.ledger)
    }

    fn refusal(&self) -> Result<&Ledger, SkipReason> {
        Ok(&self.ledger)
    }
}
