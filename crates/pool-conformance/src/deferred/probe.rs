//! The deferred backend's probe, which also serves as an example for other backends with a command
//! queue.

use pool_core::{Element, PodElement};

use super::{DeferredBackend, DeferredView, DeferredViewRef, KeptShape, Queue};
use crate::ledger::Ledger;
use crate::probe::{BackendProbe, Later, SkipReason};

/// The probe for [`DeferredBackend`]. Each context is a separate queue, and all contexts share one
/// ledger.
#[derive(Clone, Debug, Default)]
pub struct DeferredProbe {
    /// The ledger for all queues' blocks.
    pub ledger: Ledger,
}

impl BackendProbe for DeferredProbe {
    type Backend = DeferredBackend;

    fn context(&self) -> Queue {
        Queue::new(self.ledger.clone())
    }

    fn shared_address<T: Element>(&self, view: &DeferredViewRef<'_, T>) -> usize {
        view.address()
    }

    fn read_shared<T: Element>(&self, view: &DeferredViewRef<'_, T>) -> Vec<T> {
        view.read()
    }

    fn read_later<T: Element>(&self, view: &DeferredViewRef<'_, T>) -> Later<'_, T> {
        view.read_later()
    }

    fn write_elsewhere<T: PodElement>(
        &self,
        view: &mut DeferredView<'_, T>,
        elements: &[T],
    ) -> Result<(), SkipReason> {
        view.write_elsewhere(elements);
        Ok(())
    }

    fn kept_shape(&self, kept: &mut KeptShape, dims: &[usize]) -> Result<Vec<usize>, SkipReason> {
        Ok(kept.lengths(dims).to_vec())
    }

    fn accounting(&self) -> Result<&Ledger, SkipReason> {
        Ok(&self.ledger)
    }

    fn refusal(&self) -> Result<&Ledger, SkipReason> {
        Ok(&self.ledger)
    }
}
