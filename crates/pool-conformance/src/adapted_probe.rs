//! A probe for an adapted backend. The adapted probe uses the inner backend's views, blocks, and
//! probe.

use std::borrow::BorrowMut;
use std::marker::PhantomData;

use pool_core::{Element, PodElement, PoolBackend};

use crate::adapted::{AdaptedBackend, Adaptor};
use crate::ledger::Ledger;
use crate::probe::{BackendProbe, Later, SkipReason, View, ViewRef};

/// A probe for the memory of an [`AdaptedBackend`]. The probe inspects the memory through `P`, a
/// probe for the inner backend. Each adaptor is created from one of the inner backend's contexts
/// and from a setting that all adaptors share.
#[derive(Clone, Copy, Debug)]
pub struct AdaptedProbe<P, A, S> {
    inner: P,
    setting: S,
    adaptor: PhantomData<fn() -> A>,
}

impl<P, A, S> AdaptedProbe<P, A, S> {
    /// Creates a probe for adaptors that wrap the backend inspected by `inner`. All of the probe's
    /// adaptors are created with the same setting.
    #[must_use]
    pub fn new(inner: P, setting: S) -> Self {
        Self { inner, setting, adaptor: PhantomData }
    }
}

impl<P, A, S> BackendProbe for AdaptedProbe<P, A, S>
where
    P: BackendProbe,
    S: Clone + 'static,
    A: Adaptor<Inner = P::Backend> + From<(<P::Backend as PoolBackend>::Context, S)>,
{
    type Backend = AdaptedBackend<A>;

    fn context(&self) -> A {
        A::from((self.inner.context(), self.setting.clone()))
    }

    fn address<T: Element>(&self, view: &View<'_, P, T>) -> usize {
        self.inner.address::<T>(view)
    }

    fn shared_address<T: Element>(&self, view: &ViewRef<'_, P, T>) -> usize {
        self.inner.shared_address::<T>(view)
    }

    fn read<T: Element>(&self, view: &View<'_, P, T>) -> Vec<T> {
        self.inner.read::<T>(view)
    }

    fn read_shared<T: Element>(&self, view: &ViewRef<'_, P, T>) -> Vec<T> {
        self.inner.read_shared::<T>(view)
    }

    fn write<T: Element>(&self, view: &mut View<'_, P, T>, elements: &[T]) {
        self.inner.write::<T>(view, elements);
    }

    fn write_later<T: Element>(&self, view: &mut View<'_, P, T>, elements: &[T]) {
        self.inner.write_later::<T>(view, elements);
    }

    fn read_later<T: Element>(&self, view: &ViewRef<'_, P, T>) -> Later<'_, T> {
        self.inner.read_later::<T>(view)
    }

    fn open_reads(&self) -> usize {
        self.inner.open_reads()
    }

    fn write_elsewhere<T: PodElement>(
        &self,
        view: &mut View<'_, P, T>,
        elements: &[T],
    ) -> Result<(), SkipReason> {
        self.inner.write_elsewhere::<T>(view, elements)
    }

    fn kept_shape(
        &self,
        descriptor: &mut A::Descriptor,
        dims: &[usize],
    ) -> Result<Vec<usize>, SkipReason> {
        self.inner.kept_shape(descriptor.borrow_mut(), dims)
    }

    fn accounting(&self) -> Result<&Ledger, SkipReason> {
        self.inner.accounting()
    }

    fn refusal(&self) -> Result<&Ledger, SkipReason> {
        self.inner.refusal()
    }
}
