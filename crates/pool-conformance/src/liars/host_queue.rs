//! A liar that says its queue is no queue: it claims [`HostBackend`] over deferred memory, so that the pool writes
//! what the host gives at once, before older work on the block has run.

use std::cell::RefCell;

use pool_core::{AcquireResult, DynamicPool, Element, Handle, HostBackend, PodElement, Scope};

use super::DeferredLiarProbe;
use super::deferred::DeferredLiar;
use crate::adapted::AdaptedBackend;
use crate::deferred::DeferredBlock;
use crate::ledger::Ledger;
use crate::probe::{Failure, Later, Probe, SharedView, SkipReason, View};

type Backend = AdaptedBackend<DeferredLiar>;

/// What the pool writes where a block has no memory: views of no elements.
#[repr(align(64))]
struct Nowhere;

// SAFETY: the pointer is to the words of a block that was not freed, which stay where they are, and is used before
// anything runs that makes another one; or it is dangling and aligned. Words are aligned to 8, which is enough for the
// elements of the cases: the alignment is as wrong as the order.
unsafe impl HostBackend for Backend {
    fn host_pointer(block: DeferredBlock) -> *mut u8 {
        let words =
            |memory: &RefCell<Option<Vec<u64>>>| Some(memory.borrow_mut().as_mut()?.as_mut_ptr());
        let memory = block.buffer().and_then(|buffer| words(&buffer.memory));
        memory.unwrap_or(std::ptr::dangling_mut::<Nowhere>().cast()).cast()
    }
}

/// The probe of that liar: the one of liars over deferred memory, but for the host's writes.
pub(super) struct HostQueueProbe(pub(super) DeferredLiarProbe);

impl Probe for HostQueueProbe {
    type Backend = Backend;

    fn context(&self) -> DeferredLiar {
        self.0.context()
    }

    fn address<T: Element>(&self, view: &View<'_, Self, T>) -> usize {
        self.0.address::<T>(view)
    }

    fn shared_address<T: Element>(&self, view: &SharedView<'_, Self, T>) -> usize {
        self.0.shared_address::<T>(view)
    }

    fn read<T: Element>(&self, view: &View<'_, Self, T>) -> Vec<T> {
        self.0.read::<T>(view)
    }

    fn read_shared<T: Element>(&self, view: &SharedView<'_, Self, T>) -> Vec<T> {
        self.0.read_shared::<T>(view)
    }

    fn write<T: Element>(&self, view: &mut View<'_, Self, T>, elements: &[T]) {
        self.0.write::<T>(view, elements);
    }

    fn write_later<T: Element>(&self, view: &mut View<'_, Self, T>, elements: &[T]) {
        self.0.write_later::<T>(view, elements);
    }

    fn read_later<T: Element>(&self, view: &View<'_, Self, T>) -> Later<'_, T> {
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
        scope.try_acquire_with(length, element)
    }

    fn acquire_named_with<T: Element>(
        &self,
        pool: &mut DynamicPool<Backend>,
        length: usize,
        element: impl FnMut(usize) -> T,
    ) -> Result<Handle<T>, Failure<Self>> {
        pool.try_acquire_with(length, element)
    }

    fn accounting(&self) -> Result<&Ledger, SkipReason> {
        self.0.accounting()
    }

    fn refusal(&self) -> Result<&Ledger, SkipReason> {
        self.0.refusal()
    }
}
