//! A backend that wraps another backend. The outer backend behaves like the inner one except in the
//! methods that an [`Adaptor`] overrides. An adaptor can observe or limit the inner backend, or
//! make it fail. The faulty backends that test this suite are also adaptors.

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

/// The backend defined by an adaptor. A value of the adaptor type serves as the adapted backend's
/// context.
pub struct AdaptedBackend<A>(PhantomData<A>);

impl<A> fmt::Debug for AdaptedBackend<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AdaptedBackend")
    }
}

/// The context of an adaptor's inner backend.
pub type Context<A> = <<A as Adaptor>::Inner as PoolBackend>::Context;

/// The block type that an adaptor's inner backend shares with the adapted backend.
pub type Block<A> = <<A as Adaptor>::Inner as PoolBackend>::Block;

/// The exclusive view type that an adaptor's inner backend shares with the adapted backend.
pub type InnerView<'s, A, T> = <<A as Adaptor>::Inner as PoolBackend>::View<'s, T>;

/// The shared view type that an adaptor's inner backend and the adapted backend have in common.
pub type InnerViewRef<'s, A, T> = <<A as Adaptor>::Inner as PoolBackend>::ViewRef<'s, T>;

/// The error type of an adaptor's inner backend.
pub type InnerError<A> = <<A as Adaptor>::Inner as PoolBackend>::Error;

/// An adaptor for a backend. The adaptor's methods replace the corresponding methods of the inner
/// backend. All other calls go directly to the inner backend.
///
/// # Safety
///
/// - An [`AdaptedBackend`] with this adaptor must uphold the contract of [`PoolBackend`]. An
///   adaptor that tests a test suite may deliberately violate the contract, but it must not misuse
///   memory.
/// - Unless the adaptor overrides `view` and `view_ref`, the inner backend's views must not use
///   their [`SlotRef`].
pub unsafe trait Adaptor: Sized + 'static {
    /// The inner backend.
    type Inner: PoolBackend;

    /// The type of the descriptor that is stored with a cached shape. The descriptor type is either
    /// the inner backend's descriptor or a type that contains it.
    type Descriptor: Default + 'static + BorrowMut<<Self::Inner as PoolBackend>::Descriptor>;

    /// Returns the inner backend's context.
    fn inner(&self) -> &Context<Self>;

    /// See [`PoolBackend::allocate`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`PoolBackend::allocate`].
    fn allocate(&self, bytes: usize, advice: Advice) -> Result<Block<Self>, AdaptedError<Self>> {
        Self::Inner::allocate(self.inner(), bytes, advice).map_err(AdaptedError::Inner)
    }

    /// See [`PoolBackend::free`].
    ///
    /// # Safety
    ///
    /// The caller must meet the requirements of [`PoolBackend::free`].
    unsafe fn free(&self, block: Block<Self>, bytes: usize) {
        // SAFETY: the caller upholds the contract of `free`. The inner backend imposes no further
        // requirements.
        unsafe { Self::Inner::free(self.inner(), block, bytes) };
    }

    /// See [`PoolBackend::settle`].
    fn settle(&self) {
        Self::Inner::settle(self.inner());
    }

    /// See [`PoolBackend::view`].
    ///
    /// # Safety
    ///
    /// The caller must meet the requirements of [`PoolBackend::view`].
    unsafe fn view<'s, T: Element>(
        block: Block<Self>,
        slot: SlotRef<AdaptedBackend<Self>>,
        length: usize,
    ) -> InnerView<'s, Self, T> {
        // SAFETY: the caller upholds the contract of `view`. `Adaptor` requires that no view of the
        // inner backend uses its slot.
        unsafe { Self::Inner::view(block, unused_slot(slot), length) }
    }

    /// See [`PoolBackend::view_ref`].
    ///
    /// # Safety
    ///
    /// The caller must meet the requirements of [`PoolBackend::view_ref`].
    unsafe fn view_ref<'s, T: Element>(
        block: Block<Self>,
        slot: SlotRef<AdaptedBackend<Self>>,
        length: usize,
    ) -> InnerViewRef<'s, Self, T> {
        // SAFETY: the caller upholds the contract of `view_ref`. `Adaptor` requires that no view of
        // the inner backend uses its slot.
        unsafe { Self::Inner::view_ref(block, unused_slot(slot), length) }
    }

    /// See [`PoolBackend::reuse`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`PoolBackend::reuse`].
    ///
    /// # Safety
    ///
    /// The caller must meet the requirements of [`PoolBackend::reuse`].
    unsafe fn reuse(&self, block: Block<Self>, why: Reuse) -> Result<(), InnerError<Self>> {
        // SAFETY: the caller upholds the contract of `reuse`. The inner backend imposes no further
        // requirements.
        unsafe { Self::Inner::reuse(self.inner(), block, why) }
    }

    /// See [`PoolBackend::set_bytes`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`PoolBackend::set_bytes`].
    ///
    /// # Safety
    ///
    /// The caller must meet the requirements of [`PoolBackend::set_bytes`].
    unsafe fn set_bytes(
        &self,
        block: Block<Self>,
        value: u8,
        bytes: usize,
    ) -> Result<(), InnerError<Self>> {
        // SAFETY: the caller upholds the contract of `set_bytes`. The inner backend imposes no
        // further requirements.
        unsafe { Self::Inner::set_bytes(self.inner(), block, value, bytes) }
    }

    /// See [`PoolBackend::fill`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`PoolBackend::fill`].
    ///
    /// # Safety
    ///
    /// The caller must meet the requirements of [`PoolBackend::fill`].
    unsafe fn fill<T: Element>(
        &self,
        block: Block<Self>,
        value: T,
        length: usize,
    ) -> Result<(), InnerError<Self>> {
        // SAFETY: the caller upholds the contract of `fill`. The inner backend imposes no further
        // requirements.
        unsafe { Self::Inner::fill(self.inner(), block, value, length) }
    }

    /// See [`PoolBackend::copy_from_host`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`PoolBackend::copy_from_host`].
    ///
    /// # Safety
    ///
    /// The caller must meet the requirements of [`PoolBackend::copy_from_host`].
    unsafe fn copy_from_host<T: Element>(
        &self,
        block: Block<Self>,
        source: &[T],
    ) -> Result<(), InnerError<Self>> {
        // SAFETY: the caller upholds the contract of `copy_from_host`. The inner backend imposes no
        // further requirements.
        unsafe { Self::Inner::copy_from_host(self.inner(), block, source) }
    }
}

/// An adapted backend's error type.
#[derive(Error)]
pub enum AdaptedError<A: Adaptor> {
    /// The test refused an allocation.
    #[error(transparent)]
    Refused(#[from] RefusalError),
    /// The inner backend returned an error.
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

/// Converts a slot to another backend's slot type. The converted slot may be passed only to views
/// that do not use it.
pub(crate) fn unused_slot<B: PoolBackend, I: PoolBackend>(slot: SlotRef<B>) -> SlotRef<I> {
    const { assert!(size_of::<SlotRef<B>>() == size_of::<*const ()>()) };
    const { assert!(size_of::<SlotRef<I>>() == size_of::<*const ()>()) };
    // SAFETY: the assertions check that both types consist of a single pointer. The converted slot
    // is not necessarily valid for its new type. Callers pass the converted slot only to views that
    // do not use it.
    unsafe { transmute_copy(&slot) }
}

// SAFETY: an implementation of `Adaptor` guarantees that its own methods uphold the contract of
// `PoolBackend`. Every method that is not overridden calls the inner backend, which upholds the
// contract itself. If a method is not overridden, the inner backend receives only its own context,
// blocks, and views.
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
        // SAFETY: the caller upholds the contract of `free`. The adaptor's method imposes no
        // further requirements.
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
        // SAFETY: the caller upholds the contract of `view`. The adaptor's method imposes no
        // further requirements.
        unsafe { A::view(block, slot, length) }
    }

    unsafe fn view_ref<'s, T: Element>(
        block: Block<A>,
        slot: SlotRef<Self>,
        length: usize,
    ) -> InnerViewRef<'s, A, T> {
        // SAFETY: the caller upholds the contract of `view_ref`. The adaptor's method imposes no
        // further requirements.
        unsafe { A::view_ref(block, slot, length) }
    }

    unsafe fn reuse(context: &A, block: Block<A>, why: Reuse) -> Result<(), AdaptedError<A>> {
        // SAFETY: the caller upholds the contract of `reuse`. The adaptor's method imposes no
        // further requirements.
        unsafe { context.reuse(block, why) }.map_err(AdaptedError::Inner)
    }

    unsafe fn set_bytes(
        context: &A,
        block: Block<A>,
        value: u8,
        bytes: usize,
    ) -> Result<(), AdaptedError<A>> {
        // SAFETY: the caller upholds the contract of `set_bytes`. The adaptor's method imposes no
        // further requirements.
        unsafe { context.set_bytes(block, value, bytes) }.map_err(AdaptedError::Inner)
    }

    unsafe fn fill<T: Element>(
        context: &A,
        block: Block<A>,
        value: T,
        length: usize,
    ) -> Result<(), AdaptedError<A>> {
        // SAFETY: the caller upholds the contract of `fill`. The adaptor's method imposes no
        // further requirements.
        unsafe { context.fill(block, value, length) }.map_err(AdaptedError::Inner)
    }

    unsafe fn copy_from_host<T: Element>(
        context: &A,
        block: Block<A>,
        source: &[T],
    ) -> Result<(), AdaptedError<A>> {
        // SAFETY: the caller upholds the contract of `copy_from_host`. The adaptor's method imposes
        // no further requirements.
        unsafe { context.copy_from_host(block, source) }.map_err(AdaptedError::Inner)
    }
}

// SAFETY: an adaptor does not change the addresses of the inner backend's blocks.
unsafe impl<A: Adaptor<Inner: HostBackend>> HostBackend for AdaptedBackend<A> {
    fn host_pointer(block: Block<A>) -> *mut u8 {
        A::Inner::host_pointer(block)
    }
}

/// An adaptor for pools that might use the stack layout.
///
/// # Safety
///
/// The adaptor's views must ignore their [`SlotRef`], and its methods must accept parts of blocks,
/// as [`StackedBackend`] requires.
pub unsafe trait StackedAdaptor: Adaptor<Inner: StackedBackend> {}

// SAFETY: the inner backend provides the blocks, and the adaptor meets all other requirements of
// the trait.
unsafe impl<A: StackedAdaptor> StackedBackend for AdaptedBackend<A> {
    fn address(block: Block<A>) -> NonNull<u8> {
        A::Inner::address(block)
    }

    fn block_at(address: NonNull<u8>) -> Block<A> {
        A::Inner::block_at(address)
    }
}
