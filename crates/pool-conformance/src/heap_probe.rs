//! The probe of the [`HeapBackend`], whose context is a ledger.

use pool_core::{AcquireResult, DynamicPool, Element, Handle, Scope};

use crate::heap::HeapBackend;
use crate::ledger::Ledger;
use crate::probe::{Failure, Probe, SkipReason};

/// The probe of the [`HeapBackend`]: all its contexts share one ledger.
#[derive(Clone, Debug, Default)]
pub struct HeapProbe {
    /// The ledger of the blocks of all contexts.
    pub ledger: Ledger,
}

impl Probe for HeapProbe {
    type Backend = HeapBackend;

    fn context(&self) -> Ledger {
        self.ledger.clone()
    }

    crate::slice_access!();

    fn acquire_with<'s, T: Element>(
        &self,
        scope: &Scope<'s, HeapBackend>,
        length: usize,
        element: impl FnMut(usize) -> T,
    ) -> AcquireResult<'s, HeapBackend, T> {
        scope.try_acquire_with(length, element)
    }

    fn acquire_named_with<T: Element>(
        &self,
        pool: &mut DynamicPool<HeapBackend>,
        length: usize,
        element: impl FnMut(usize) -> T,
    ) -> Result<Handle<T>, Failure<Self>> {
        pool.try_acquire_with(length, element)
    }

    fn accounting(&self) -> Result<&Ledger, SkipReason> {
        Ok(&self.ledger)
    }

    fn refusal(&self) -> Result<&Ledger, SkipReason> {
        Ok(&self.ledger)
    }
}
