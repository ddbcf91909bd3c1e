//! A faulty backend that treats its queue's memory as host memory. Elements from the host are
//! written immediately, even if earlier work on the block has not run yet.

use pool_core::{AcquireResult, DynamicPool, Element, Handle, PodElement, Scope};

use super::deferred::{FaultyDeferred, FaultyDeferredProbe};
use crate::adapted::AdaptedBackend;
use crate::ledger::Ledger;
use crate::probe::{BackendProbe, Failure, Later, SkipReason, View, ViewRef};

type Backend = AdaptedBackend<FaultyDeferred>;

/// The probe for the faulty backend that treats its queue's memory as host memory. The probe
/// differs from the one for faulty backends with deferred memory only in how the host writes.
pub(super) struct HostQueueProbe(pub(super) FaultyDeferredProbe);

impl BackendProbe for HostQueueProbe {
    type Backend = Backend;

    fn context(&self) -> FaultyDeferred {
        self.0.context()
    }

    fn shared_address<T: Element>(&self, view: &ViewRef<'_, Self, T>) -> usize {
        self.0.shared_address::<T>(view)
    }

    fn read_shared<T: Element>(&self, view: &ViewRef<'_, Self, T>) -> Vec<T> {
        self.0.read_shared::<T>(view)
    }

    fn read_later<T: Element>(&self, view: &ViewRef<'_, Self, T>) -> Later<'_, T> {
        self.0.read_later::<T>(view)
    }

    fn write_elsewhere<T: PodElement>(
        &self,
        view: &mut View<'_, Self, T>,
        elements: &[T],
    ) -> Result<(), SkipReason> {
        self.0.write_elsewhere::<T>(view, elements)
    }

    fn acquire_with<'s, T: Element>(
        &self,
        scope: &Scope<'s, Backend>,
        length: usize,
        element: impl FnMut(usize) -> T,
    ) -> AcquireResult<'s, Backend, T> {
        let mut view = scope.try_acquire_zeroed(length)?;
        view.write_at_once(&(0..length).map(element).collect::<Vec<_>>());
        Ok(view)
    }

    fn acquire_named_with<T: Element>(
        &self,
        pool: &mut DynamicPool<Backend>,
        length: usize,
        element: impl FnMut(usize) -> T,
    ) -> Result<Handle<T>, Failure<Self>> {
        let handle = pool.try_acquire_zeroed(length)?;
        pool.get_mut(handle)?.write_at_once(&(0..length).map(element).collect::<Vec<_>>());
        Ok(handle)
    }

    fn accounting(&self) -> Result<&Ledger, SkipReason> {
        self.0.accounting()
    }

    fn refusal(&self) -> Result<&Ledger, SkipReason> {
        self.0.refusal()
    }
}
