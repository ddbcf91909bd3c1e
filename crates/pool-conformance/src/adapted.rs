//! A backend around a backend: the outer one does the same as the inner one, except for the methods
//! that an [`Adaptor`] overrides. A backend that watches, limits or fails another backend is an
//! adaptor, and so is each of the faulty backends with which the suite itself is tested.

use std::borrow::BorrowMut;
use std::fmt;
use std::marker::PhantomData;
use std::mem::transmute_copy;
use std::ptr::NonNull;

use pool_core::{
    Advice, Device, Element, HostBackend, PoolBackend, Reuse, SlotRef, Slots, StackedBackend,
};
use thiserror::Error;

use crate::ledger::RefusalError;

/// The backend of an adaptor, whose values are its contexts.
pub struct AdaptedBackend<A>(PhantomData<A>);

impl<A> fmt::Debug for AdaptedBackend<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AdaptedBackend")
    }
}

/// The context of an adaptor's inner backend.
pub type Context<A> = <<A as Adaptor>::Inner as PoolBackend>::Context;

/// The block of an adaptor's inner backend, and so its own.
pub type Block<A> = <<A as Adaptor>::Inner as PoolBackend>::Block;

/// The exclusive view of an adaptor's inner backend, and so its own.
pub type InnerView<'s, A, T> = <<A as Adaptor>::Inner as PoolBackend>::View<'s, T>;

/// The shared view of an adaptor's inner backend, and so its own.
pub type InnerViewRef<'s, A, T> = <<A as Adaptor>::Inner as PoolBackend>::ViewRef<'s, T>;

/// The error of an adaptor's inner backend.
pub type InnerError<A> = <<A as Adaptor>::Inner as PoolBackend>::Error;

/// An adaptor of a backend: its methods replace those of the inner backend. Every method that is
/// not overridden calls the inner backend.
///
/// # Safety
///
/// - [`AdaptedBackend`] with this adaptor keeps the contract of [`PoolBackend`]; or it is a faulty
///   backend for a test of tests, and breaks the contract without misusing memory.
/// - The inner backend's views do not use their [`SlotRef`], or `view` and `view_ref` are overridden.
pub unsafe trait Adaptor: Sized + 'static {
    /// The backend that is adapted.
    type Inner: PoolBackend;

    /// The descriptor that is kept with a cached shape: the inner backend's, or one that contains
    /// it.
    type Descriptor: Default + 'static + BorrowMut<<Self::Inner as PoolBackend>::Descriptor>;

    /// Returns the inner backend's context.
    fn inner(&self) -> &Context<Self>;

    /// Does the same as [`PoolBackend::allocate`].
    ///
    /// # Errors
    ///
    /// Same as for [`PoolBackend::allocate`].
    fn allocate(&self, bytes: usize, advice: Advice) -> Result<Block<Self>, AdaptedError<Self>> {
        Self::Inner::allocate(self.inner(), bytes, advice).map_err(AdaptedError::Inner)
    }

    /// Does the same as [`PoolBackend::free`].
    ///
    /// # Safety
    ///
    /// Same as for [`PoolBackend::free`].
    unsafe fn free(&self, block: Block<Self>, bytes: usize) {
        // SAFETY: the caller's promise.
        unsafe { Self::Inner::free(self.inner(), block, bytes) };
    }

    /// Does the same as [`PoolBackend::settle`].
    fn settle(&self) {
        Self::Inner::settle(self.inner());
    }

    /// Does the same as [`PoolBackend::view`].
    ///
    /// # Safety
    ///
    /// Same as for [`PoolBackend::view`].
    unsafe fn view<'s, T: Element>(
        block: Block<Self>,
        slot: SlotRef<AdaptedBackend<Self>>,
        length: usize,
    ) -> InnerView<'s, Self, T> {
        // SAFETY: the caller's promise; the slot is not used (trait).
        unsafe { Self::Inner::view(block, unused_slot(slot), length) }
    }

    /// Does the same as [`PoolBackend::view_ref`].
    ///
    /// # Safety
    ///
    /// Same as for [`PoolBackend::view_ref`].
    unsafe fn view_ref<'s, T: Element>(
        block: Block<Self>,
        slot: SlotRef<AdaptedBackend<Self>>,
        length: usize,
    ) -> InnerViewRef<'s, Self, T> {
        // SAFETY: as in `view`.
        unsafe { Self::Inner::view_ref(block, unused_slot(slot), length) }
    }

    /// Does the same as [`PoolBackend::reuse`].
    ///
    /// # Errors
    ///
    /// Same as for [`PoolBackend::reuse`].
    ///
    /// # Safety
    ///
    /// Same as for [`PoolBackend::reuse`].
    unsafe fn reuse(&self, block: Block<Self>, why: Reuse) -> Result<(), InnerError<Self>> {
        // SAFETY: the caller's promise; so below.
        unsafe { Self::Inner::reuse(self.inner(), block, why) }
    }

    /// Does the same as [`PoolBackend::set_bytes`].
    ///
    /// # Errors
    ///
    /// Same as for [`PoolBackend::set_bytes`].
    ///
    /// # Safety
    ///
    /// Same as for [`PoolBackend::set_bytes`].
    unsafe fn set_bytes(
        &self,
        block: Block<Self>,
        value: u8,
        bytes: usize,
    ) -> Result<(), InnerError<Self>> {
        // SAFETY: as above.
        unsafe { Self::Inner::set_bytes(self.inner(), block, value, bytes) }
    }

    /// Does the same as [`PoolBackend::fill`].
    ///
    /// # Errors
    ///
    /// Same as for [`PoolBackend::fill`].
    ///
    /// # Safety
    ///
    /// Same as for [`PoolBackend::fill`].
    unsafe fn fill<T: Element>(
        &self,
        block: Block<Self>,
        value: T,
        length: usize,
    ) -> Result<(), InnerError<Self>> {
        // SAFETY: as above.
        unsafe { Self::Inner::fill(self.inner(), block, value, length) }
    }

    /// Does the same as [`PoolBackend::copy_from_host`].
    ///
    /// # Errors
    ///
    /// Same as for [`PoolBackend::copy_from_host`].
    ///
    /// # Safety
    ///
    /// Same as for [`PoolBackend::copy_from_host`].
    unsafe fn copy_from_host<T: Element>(
        &self,
        block: Block<Self>,
        source: &[T],
    ) -> Result<(), InnerError<Self>> {
        // SAFETY: as above.
        unsafe { Self::Inner::copy_from_host(self.inner(), block, source) }
    }
}

/// The error of an adapted backend.
#[derive(Error)]
pub enum AdaptedError<A: Adaptor> {
    /// The test refused an allocation.
    #[error(transparent)]
    Refused(#[from] RefusalError),
    /// The inner backend's error.
    #[error(transparent)]
    Inner(InnerError<A>),
}

impl<A: Adaptor> fmt::Debug for AdaptedError<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refused) => refused.fmt(f),
            Self::Inner(error) => error.fmt(f),
        }
    }
}

/// Returns a slot for views of a backend other than the slot's own. Such views do not use the slot.
pub(crate) fn unused_slot<B: PoolBackend, I: PoolBackend>(slot: SlotRef<B>) -> SlotRef<I> {
    const { assert!(size_of::<SlotRef<B>>() == size_of::<*const ()>()) };
    const { assert!(size_of::<SlotRef<I>>() == size_of::<*const ()>()) };
    // SAFETY: both are one pointer and nothing else (asserted). The slot may not exist, and the
    // callers pass it to views that do not use it.
    unsafe { transmute_copy(&slot) }
}

// SAFETY: an adaptor promises that its own methods keep the contract. The others are those of the
// inner backend, which keeps it, with the inner backend's context, blocks and views.
unsafe impl<A: Adaptor> PoolBackend for AdaptedBackend<A> {
    type Layout = Slots;
    type Context = A;
    type Block = Block<A>;
    type View<'s, T: Element> = InnerView<'s, A, T>;
    type ViewRef<'s, T: Element> = InnerViewRef<'s, A, T>;
    type Descriptor = A::Descriptor;
    type Error = AdaptedError<A>;
    type ViewError = <A::Inner as PoolBackend>::ViewError;

    const ALIGN: usize = A::Inner::ALIGN;
    const DANGLING: Block<A> = A::Inner::DANGLING;

    fn device(context: &A) -> Device {
        A::Inner::device(context.inner())
    }

    fn allocate(context: &A, bytes: usize, advice: Advice) -> Result<Block<A>, AdaptedError<A>> {
        context.allocate(bytes, advice)
    }

    unsafe fn free(context: &A, block: Block<A>, bytes: usize) {
        // SAFETY: the caller's promise; so below.
        unsafe { context.free(block, bytes) };
    }

    fn settle(context: &A) {
        context.settle();
    }

    unsafe fn view<'s, T: Element>(
        block: Block<A>,
        slot: SlotRef<Self>,
        length: usize,
    ) -> InnerView<'s, A, T> {
        // SAFETY: as above.
        unsafe { A::view(block, slot, length) }
    }

    unsafe fn view_ref<'s, T: Element>(
        block: Block<A>,
        slot: SlotRef<Self>,
        length: usize,
    ) -> InnerViewRef<'s, A, T> {
        // SAFETY: as above.
        unsafe { A::view_ref(block, slot, length) }
    }

    unsafe fn reuse(context: &A, block: Block<A>, why: Reuse) -> Result<(), AdaptedError<A>> {
        // SAFETY: as above.
        unsafe { context.reuse(block, why) }.map_err(AdaptedError::Inner)
    }

    unsafe fn set_bytes(
        context: &A,
        block: Block<A>,
        value: u8,
        bytes: usize,
    ) -> Result<(), AdaptedError<A>> {
        // SAFETY: as above.
        unsafe { context.set_bytes(block, value, bytes) }.map_err(AdaptedError::Inner)
    }

    unsafe fn fill<T: Element>(
        context: &A,
        block: Block<A>,
        value: T,
        length: usize,
    ) -> Result<(), AdaptedError<A>> {
        // SAFETY: as above.
        unsafe { context.fill(block, value, length) }.map_err(AdaptedError::Inner)
    }

    unsafe fn copy_from_host<T: Element>(
        context: &A,
        block: Block<A>,
        source: &[T],
    ) -> Result<(), AdaptedError<A>> {
        // SAFETY: as above.
        unsafe { context.copy_from_host(block, source) }.map_err(AdaptedError::Inner)
    }
}

// SAFETY: blocks are the inner backend's, and an adaptor does not change where they are.
unsafe impl<A: Adaptor<Inner: HostBackend>> HostBackend for AdaptedBackend<A> {
    fn host_pointer(block: Block<A>) -> *mut u8 {
        A::Inner::host_pointer(block)
    }
}

/// An adaptor whose pools may be stacks.
///
/// # Safety
///
/// The adaptor's views ignore their [`SlotRef`], and its methods accept parts of blocks ([`StackedBackend`]).
pub unsafe trait StackedAdaptor: Adaptor<Inner: StackedBackend> {}

// SAFETY: blocks are the inner backend's; the adaptor promises the rest.
unsafe impl<A: StackedAdaptor> StackedBackend for AdaptedBackend<A> {
    fn address(block: Block<A>) -> NonNull<u8> {
        A::Inner::address(block)
    }

    fn block_at(address: NonNull<u8>) -> Block<A> {
        A::Inner::block_at(address)
    }
}
