//! Heap memory whose views can arm the slot that they came from, as the views of a device do when
//! they are used where the pool cannot see it.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::slice;

use pool_conformance::{HeapBackend, Ledger, RefusalError};
use pool_core::{
    Advice, CopyView, Device, Element, HostBackend, LendView, LendViewMut, PodElement, PoolBackend,
    PoolView, PoolViewMut, Reuse, ShapeError, SlotRef, ViewError,
};

/// Heap memory watched by a [`Ledger`], with [`ArmingView`]s.
#[derive(Debug)]
pub(crate) struct Arming;

/// The elements `E`, a slice, and the slot that they are in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArmingView<E> {
    elements: E,
    slot: SlotRef<Arming>,
}

impl<E> ArmingView<E> {
    /// Arms the slot, as a use on a foreign stream would.
    pub(crate) fn arm(&self) {
        // SAFETY: the view is in use: its elements are borrowed for its `'s`, which the borrow of
        // `self` is within. A `SlotRef` is not `Send`, so this is the thread that owns the pool.
        unsafe { self.slot.arm() };
    }

    /// How many blocks the pool's ledger has, found through the slot.
    pub(crate) fn blocks_of_its_pool(&self) -> usize {
        // SAFETY: as in `arm`.
        let ledger: &Ledger = unsafe { self.slot.context() };
        ledger.live_blocks()
    }

    /// Where the slot's block starts.
    pub(crate) fn block_address(&self) -> usize {
        // SAFETY: as in `arm`.
        let block = unsafe { self.slot.block() };
        block.addr().get()
    }
}

impl<E: Deref> Deref for ArmingView<E> {
    type Target = E::Target;

    fn deref(&self) -> &E::Target {
        &self.elements
    }
}

impl<E: DerefMut> DerefMut for ArmingView<E> {
    fn deref_mut(&mut self) -> &mut E::Target {
        &mut self.elements
    }
}

impl<E: PoolView> PoolView for ArmingView<E> {
    type Element = E::Element;
    type Error = E::Error;

    fn try_copy_to_host(&self, destination: &mut [E::Element]) -> Result<(), E::Error>
    where
        E::Element: PodElement,
    {
        self.elements.try_copy_to_host(destination)
    }

    fn try_to_vec(&self) -> Result<Vec<E::Element>, E::Error>
    where
        E::Element: PodElement,
    {
        self.elements.try_to_vec()
    }

    fn len(&self) -> usize {
        self.elements.len()
    }

    fn try_split_at(self, index: usize) -> Result<(Self, Self), ShapeError> {
        let (before, after) = self.elements.try_split_at(index)?;
        let slot = self.slot;
        Ok((Self { elements: before, slot }, Self { elements: after, slot }))
    }
}

impl<E: PoolViewMut> PoolViewMut for ArmingView<E> {
    fn try_fill(&mut self, value: E::Element) -> Result<(), E::Error>
    where
        E::Element: Element,
    {
        self.elements.try_fill(value)
    }

    fn try_zero(&mut self) -> Result<(), E::Error>
    where
        E::Element: Element,
    {
        self.elements.try_zero()
    }

    fn try_copy_from_host(&mut self, source: &[E::Element]) -> Result<(), E::Error>
    where
        E::Element: Element,
    {
        self.elements.try_copy_from_host(source)
    }
}

impl<'a, T> LendView<'a> for ArmingView<&[T]> {
    type Shared = ArmingView<&'a [T]>;

    fn as_view(&'a self) -> ArmingView<&'a [T]> {
        *self
    }
}

impl<'a, T> LendView<'a> for ArmingView<&mut [T]> {
    type Shared = ArmingView<&'a [T]>;

    fn as_view(&'a self) -> ArmingView<&'a [T]> {
        ArmingView { elements: self.elements, slot: self.slot }
    }
}

impl<'a, T> LendViewMut<'a> for ArmingView<&mut [T]> {
    type Exclusive = ArmingView<&'a mut [T]>;

    fn reborrow(&'a mut self) -> ArmingView<&'a mut [T]> {
        ArmingView { elements: self.elements, slot: self.slot }
    }
}

impl<'a, T> CopyView<ArmingView<&'a [T]>> for ArmingView<&mut [T]> {
    fn try_copy_from(&mut self, source: ArmingView<&'a [T]>) -> Result<(), ViewError>
    where
        T: Element,
    {
        self.elements.try_copy_from(source.elements)
    }
}

// SAFETY: the memory is that of `HeapBackend`, which keeps the contract; a view is its slice and the
// slot.
unsafe impl PoolBackend for Arming {
    type Context = Ledger;
    type Block = NonNull<u8>;
    type View<'s, T: Element> = ArmingView<&'s mut [T]>;
    type ViewRef<'s, T: Element> = ArmingView<&'s [T]>;
    type Descriptor = ();
    type Error = RefusalError;
    type ViewError = ViewError;

    const ALIGN: usize = HeapBackend::ALIGN;
    const DANGLING: NonNull<u8> = HeapBackend::DANGLING;

    fn device(ledger: &Ledger) -> Device {
        HeapBackend::device(ledger)
    }

    fn allocate(
        ledger: &Ledger,
        bytes: usize,
        advice: Advice,
    ) -> Result<NonNull<u8>, RefusalError> {
        HeapBackend::allocate(ledger, bytes, advice)
    }

    unsafe fn free(ledger: &Ledger, block: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller's promise.
        unsafe { HeapBackend::free(ledger, block, bytes) };
    }

    fn settle(ledger: &Ledger) {
        HeapBackend::settle(ledger);
    }

    unsafe fn view<'s, T: Element>(
        block: NonNull<u8>,
        slot: SlotRef<Self>,
        length: usize,
    ) -> ArmingView<&'s mut [T]> {
        // SAFETY: the caller answers for `length` valid elements, exclusively for `'s`.
        let elements = unsafe { slice::from_raw_parts_mut(block.cast().as_ptr(), length) };
        ArmingView { elements, slot }
    }

    unsafe fn view_ref<'s, T: Element>(
        block: NonNull<u8>,
        slot: SlotRef<Self>,
        length: usize,
    ) -> ArmingView<&'s [T]> {
        // SAFETY: as in `view`, shared.
        let elements = unsafe { slice::from_raw_parts(block.cast().as_ptr(), length) };
        ArmingView { elements, slot }
    }

    unsafe fn reuse(ledger: &Ledger, block: NonNull<u8>, why: Reuse) -> Result<(), RefusalError> {
        // SAFETY: the caller's promise.
        unsafe { HeapBackend::reuse(ledger, block, why) }
    }

    unsafe fn set_bytes(
        ledger: &Ledger,
        block: NonNull<u8>,
        value: u8,
        bytes: usize,
    ) -> Result<(), RefusalError> {
        // SAFETY: the caller's promise.
        unsafe { HeapBackend::set_bytes(ledger, block, value, bytes) }
    }

    unsafe fn fill<T: Element>(
        ledger: &Ledger,
        block: NonNull<u8>,
        value: T,
        length: usize,
    ) -> Result<(), RefusalError> {
        // SAFETY: the caller's promise.
        unsafe { HeapBackend::fill(ledger, block, value, length) }
    }

    unsafe fn copy_from_host<T: Element>(
        ledger: &Ledger,
        block: NonNull<u8>,
        source: &[T],
    ) -> Result<(), RefusalError> {
        // SAFETY: the caller's promise.
        unsafe { HeapBackend::copy_from_host(ledger, block, source) }
    }
}

// SAFETY: a block is a pointer to host memory, valid for all of its bytes and aligned; the dangling one is aligned.
unsafe impl HostBackend for Arming {
    fn host_pointer(block: NonNull<u8>) -> *mut u8 {
        HeapBackend::host_pointer(block)
    }
}
