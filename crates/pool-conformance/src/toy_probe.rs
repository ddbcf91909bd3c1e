//! The probe of the [`Toy`], with a ledger around it: everything that a backend of slices needs.

use crate::ledger::Ledger;
use crate::ledgered::{LedgeredBackend, LedgeredContext};
use crate::probe::{Probe, SkipReason};
use crate::toy::Toy;

/// The probe of the [`Toy`] with a ledger around it.
#[derive(Clone, Debug, Default)]
pub struct ToyProbe {
    /// The ledger of the blocks that the pools allocated and freed.
    pub ledger: Ledger,
}

impl Probe for ToyProbe {
    type Backend = LedgeredBackend<Toy>;

    fn context(&self) -> LedgeredContext<Toy> {
        // SAFETY: the toy's views are slices.
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
