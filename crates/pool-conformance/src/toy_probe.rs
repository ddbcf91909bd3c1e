//! The probe for the [`Toy`] backend, wrapped in a backend that has a ledger. Any backend whose
//! views are slices needs a similar probe.

use crate::ledger::Ledger;
use crate::ledgered::{LedgeredBackend, LedgeredContext};
use crate::probe::{BackendProbe, SkipReason};
use crate::toy::Toy;

/// The probe for the [`Toy`] backend, wrapped in a backend that has a ledger.
#[derive(Clone, Debug, Default)]
pub struct ToyProbe {
    /// The ledger that records the blocks that pools allocate and free.
    pub ledger: Ledger,
}

impl BackendProbe for ToyProbe {
    type Backend = LedgeredBackend<Toy>;

    fn context(&self) -> LedgeredContext<Toy> {
        // SAFETY: the views of `Toy` are slices, which do not use their slot.
        unsafe { LedgeredContext::new((), self.ledger.clone()) }
    }

    crate::slice_access!();

    fn accounting(&self) -> Result<&Ledger, SkipReason> {
        Ok(&self.ledger)
    }

    fn refusal(&self) -> Result<&Ledger, SkipReason> {
        Ok(&self.ledger)
    }
}
