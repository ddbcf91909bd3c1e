//! The probe of the [`Toy`], with a ledger around it: all that a backend of slices needs.

use crate::ledger::Ledger;
use crate::probe::{Declined, Probe};
use crate::toy::Toy;
use crate::watched::{Watch, Watched};

/// The probe of the [`Toy`], watched.
#[derive(Clone, Debug, Default)]
pub struct ToyProbe {
    /// The ledger of the blocks that the pools took and gave back.
    pub ledger: Ledger,
}

impl Probe for ToyProbe {
    type Backend = Watched<Toy>;

    fn context(&self) -> Watch<Toy> {
        // SAFETY: the toy's views are slices.
        unsafe { Watch::new((), self.ledger.clone()) }
    }

    crate::slice_access!();

    fn accounting(&self) -> Result<&Ledger, Declined> {
        Ok(&self.ledger)
    }

    fn refusal(&self) -> Result<&Ledger, Declined> {
        Ok(&self.ledger)
    }
}
