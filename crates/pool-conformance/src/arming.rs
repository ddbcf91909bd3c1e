//! A host backend with views that can arm their slot by calling `SlotRef::arm`. A device view arms
//! its slot whenever work that the pool cannot observe uses the view. Once a view has armed its
//! slot, the backend records the calls to `reuse`.

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::slice;

use pool_core::{
    Advice, Device, Element, HostBackend, LendView, PodElement, PoolBackend, PoolView, PoolViewMut,
    Reuse, ShapeError, SlotRef, Slots, ViewError,
};

/// A host backend with [`ArmingView`]s. The memory comes from the backend `B`, but `B`'s own views
/// remain unused.
pub struct ArmingBackend<B>(PhantomData<B>);

impl<B> fmt::Debug for ArmingBackend<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ArmingBackend")
    }
}

thread_local! {
    /// The first bytes of the blocks passed to `reuse`, or `None` if no test is recording them.
    static ORDERED: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
}

/// Runs `body` and returns its result. The function also returns, in call order, the first byte of
/// each block that was passed to `reuse`.
///
/// If `body` causes a call to `reuse`, the block passed to `reuse` must belong to an
/// [`ArmingBackend`]. The block's first byte must be initialized.
pub fn first_bytes_at_reuse<R>(body: impl FnOnce() -> R) -> (R, Vec<u8>) {
    ORDERED.set(Some(Vec::new()));
    let result = body();
    (result, ORDERED.take().unwrap_or_default())
}

/// A slice of elements, together with its slot.
pub struct ArmingView<B: HostBackend, E> {
    elements: E,
    slot: SlotRef<ArmingBackend<B>>,
}

impl<B: HostBackend, E: Clone> Clone for ArmingView<B, E> {
    fn clone(&self) -> Self {
        Self { elements: self.elements.clone(), slot: self.slot }
    }
}

impl<B: HostBackend, E: Copy> Copy for ArmingView<B, E> {}

impl<B: HostBackend, E: fmt::Debug> fmt::Debug for ArmingView<B, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArmingView").field("elements", &self.elements).finish_non_exhaustive()
    }
}

impl<B: HostBackend, E> ArmingView<B, E> {
    /// Arms the slot, as if work on another stream had used the view.
    pub fn arm(&self) {
        // SAFETY: the view is in use, because its elements are borrowed for `'s`, which outlives
        // the borrow of `self`. The current thread owns the pool, because a `SlotRef` is not
        // `Send`.
        unsafe { self.slot.arm() };
    }

    /// Returns the context of the view's pool. The slot identifies this pool.
    #[must_use]
    pub fn context(&self) -> &B::Context {
        // SAFETY: the view is in use. The current thread owns the pool, because a `SlotRef` is not
        // `Send`.
        unsafe { self.slot.context() }
    }

    /// Returns the address of the slot's block.
    #[must_use]
    pub fn block_address(&self) -> usize {
        // SAFETY: the view is in use. The current thread owns the pool, because a `SlotRef` is not
        // `Send`.
        let block = unsafe { self.slot.block() };
        B::host_pointer(block).addr()
    }
}

impl<B: HostBackend, E: Deref> Deref for ArmingView<B, E> {
    type Target = E::Target;

    fn deref(&self) -> &E::Target {
        &self.elements
    }
}

impl<B: HostBackend, E: DerefMut> DerefMut for ArmingView<B, E> {
    fn deref_mut(&mut self) -> &mut E::Target {
        &mut self.elements
    }
}

impl<B: HostBackend, E: PoolView> PoolView for ArmingView<B, E> {
    type Element = E::Element;
    type Error = E::Error;

    fn copy_to_host(&self, destination: &mut [E::Element]) -> Result<(), E::Error>
    where
        E::Element: PodElement,
    {
        self.elements.copy_to_host(destination)
    }

    fn copy_to_vec(&self) -> Result<Vec<E::Element>, E::Error>
    where
        E::Element: PodElement,
    {
        self.elements.copy_to_vec()
    }

    fn len(&self) -> usize {
        self.elements.len()
    }

    fn into_split_at(self, index: usize) -> Result<(Self, Self), ShapeError> {
        let (before, after) = self.elements.into_split_at(index)?;
        let slot = self.slot;
        Ok((Self { elements: before, slot }, Self { elements: after, slot }))
    }
}

impl<B: HostBackend, T> PoolViewMut for ArmingView<B, &mut [T]> {
    fn fill_with_value(&mut self, value: T) -> Result<(), ViewError>
    where
        T: Element,
    {
        self.elements.fill_with_value(value)
    }

    fn fill_with_zeros(&mut self) -> Result<(), ViewError>
    where
        T: Element,
    {
        self.elements.fill_with_zeros()
    }

    fn copy_from_host(&mut self, source: &[T]) -> Result<(), ViewError>
    where
        T: Element,
    {
        self.elements.copy_from_host(source)
    }

    fn copy_from<'a>(&mut self, source: ArmingView<B, &'a [T]>) -> Result<(), ViewError>
    where
        Self: 'a,
        T: Element,
    {
        self.elements.copy_from_host(source.elements)
    }
}

impl<'a, B: HostBackend, T> LendView<'a> for ArmingView<B, &[T]> {
    type Shared = ArmingView<B, &'a [T]>;
    type Same = ArmingView<B, &'a [T]>;

    fn as_view(&'a self) -> ArmingView<B, &'a [T]> {
        *self
    }

    fn reborrow(&'a mut self) -> ArmingView<B, &'a [T]> {
        *self
    }
}

impl<'a, B: HostBackend, T> LendView<'a> for ArmingView<B, &mut [T]> {
    type Shared = ArmingView<B, &'a [T]>;
    type Same = ArmingView<B, &'a mut [T]>;

    fn as_view(&'a self) -> ArmingView<B, &'a [T]> {
        ArmingView { elements: self.elements, slot: self.slot }
    }

    fn reborrow(&'a mut self) -> ArmingView<B, &'a mut [T]> {
        ArmingView { elements: self.elements, slot: self.slot }
    }
}

// SAFETY: the memory comes from `B`, which upholds the contract of `PoolBackend`. A view consists
// of the slot and a slice of the block's memory. A view's slice is created from the block's host
// pointer, and `HostBackend` guarantees that this pointer is valid.
unsafe impl<B: HostBackend> PoolBackend for ArmingBackend<B> {
    type Layout = Slots;
    type Context = B::Context;
    type Block = B::Block;
    type View<'s, T: Element> = ArmingView<B, &'s mut [T]>;
    type ViewRef<'s, T: Element> = ArmingView<B, &'s [T]>;
    type Descriptor = ();
    type Error = B::Error;
    type ViewError = ViewError;

    const ALIGN: usize = B::ALIGN;
    const DANGLING: B::Block = B::DANGLING;

    fn device(context: &B::Context) -> Device {
        B::device(context)
    }

    fn allocate(context: &B::Context, bytes: usize, advice: Advice) -> Result<B::Block, B::Error> {
        B::allocate(context, bytes, advice)
    }

    unsafe fn free(context: &B::Context, block: B::Block, bytes: usize) {
        // SAFETY: the caller upholds the contract of `free`. `B` has no further requirements.
        unsafe { B::free(context, block, bytes) };
    }

    fn settle(context: &B::Context) {
        B::settle(context);
    }

    unsafe fn view<'s, T: Element>(
        block: B::Block,
        slot: SlotRef<Self>,
        length: usize,
    ) -> ArmingView<B, &'s mut [T]> {
        // SAFETY: the caller guarantees that the block contains `length` valid elements, which are
        // borrowed exclusively for `'s`. A `HostBackend` block is sufficiently aligned for every
        // element type.
        let elements = unsafe { slice::from_raw_parts_mut(B::host_pointer(block).cast(), length) };
        ArmingView { elements, slot }
    }

    unsafe fn view_ref<'s, T: Element>(
        block: B::Block,
        slot: SlotRef<Self>,
        length: usize,
    ) -> ArmingView<B, &'s [T]> {
        // SAFETY: the caller guarantees that the block contains `length` valid elements, which are
        // only read during `'s`. A `HostBackend` block is sufficiently aligned for every element
        // type.
        let elements = unsafe { slice::from_raw_parts(B::host_pointer(block).cast(), length) };
        ArmingView { elements, slot }
    }

    unsafe fn reuse(context: &B::Context, block: B::Block, why: Reuse) -> Result<(), B::Error> {
        ORDERED.with_borrow_mut(|ordered| {
            // SAFETY: a view was created for the block, so the block contains at least one byte.
            // The block's first byte is initialized, as required by `first_bytes_at_reuse`. The
            // caller guarantees that no view of the block exists.
            ordered.as_mut().map(|bytes| bytes.push(unsafe { B::host_pointer(block).read() }))
        });
        // SAFETY: the caller upholds the contract of `reuse`. `B` has no further requirements.
        unsafe { B::reuse(context, block, why) }
    }

    unsafe fn set_bytes(
        context: &B::Context,
        block: B::Block,
        value: u8,
        bytes: usize,
    ) -> Result<(), B::Error> {
        // SAFETY: the caller upholds the contract of `set_bytes`. `B` has no further requirements.
        unsafe { B::set_bytes(context, block, value, bytes) }
    }

    unsafe fn fill<T: Element>(
        context: &B::Context,
        block: B::Block,
        value: T,
        length: usize,
    ) -> Result<(), B::Error> {
        // SAFETY: the caller upholds the contract of `fill`. `B` has no further requirements.
        unsafe { B::fill(context, block, value, length) }
    }

    unsafe fn copy_from_host<T: Element>(
        context: &B::Context,
        block: B::Block,
        source: &[T],
    ) -> Result<(), B::Error> {
        // SAFETY: the caller upholds the contract of `copy_from_host`. `B` has no further
        // requirements.
        unsafe { B::copy_from_host(context, block, source) }
    }
}

// SAFETY: the blocks and their pointers belong to `B`, which is a `HostBackend`.
unsafe impl<B: HostBackend> HostBackend for ArmingBackend<B> {
    fn host_pointer(block: B::Block) -> *mut u8 {
        B::host_pointer(block)
    }
}
