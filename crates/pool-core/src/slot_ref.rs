//! Defines a one-word reference that a view can store to refer to its memory. Only the memory
//! layouts interpret this reference.

use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// A view's reference to its slot, used by backends whose views must notify the pool. For example,
/// a view must notify the pool if it is used on a stream other than the pool's own stream.
///
/// A `SlotRef` is one word in size. Host backends ignore `SlotRef`s, so these references add no
/// cost to views of host memory. `SlotRef` is neither `Send` nor `Sync`, so a view that stores a
/// `SlotRef` stays on its pool's thread. The `SlotRef` of a view in a [stacked](crate::Stacked)
/// pool refers to the pool rather than to a slot.
pub struct SlotRef<B> {
    slot: NonNull<()>,
    /// The type is invariant in `B` because the type of the memory at the address depends on the
    /// backend.
    backend: PhantomData<fn(B) -> B>,
}

/// The tag bit that distinguishes the address of a stacked pool's state from the address of a slot.
/// Slots and states are aligned to more than one byte, so the lowest bit of their addresses is
/// unused.
const OF_STACK: usize = 1;

impl<B> Clone for SlotRef<B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B> Copy for SlotRef<B> {}

impl<B> fmt::Debug for SlotRef<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SlotRef").field(&self.slot).finish()
    }
}

impl<B> SlotRef<B> {
    /// # Safety
    ///
    /// `slot` must be the address of a slot, not of a sentinel, in a pool with the backend `B`.
    #[inline(always)]
    pub(crate) unsafe fn new(slot: NonNull<()>) -> Self {
        Self { slot, backend: PhantomData }
    }

    /// # Safety
    ///
    /// `state` must be the address of a `Stacked<B>` pool's state.
    #[inline(always)]
    pub(crate) unsafe fn of_stack(state: NonNull<()>) -> Self {
        Self { slot: state.map_addr(|address| address | OF_STACK), backend: PhantomData }
    }

    /// Returns the address of a stacked pool's state if this reference refers to one.
    #[inline(always)]
    pub(crate) fn stack(self) -> Option<NonNull<()>> {
        let address = self.slot.addr().get();
        if address & OF_STACK == 0 {
            return None;
        }
        NonNull::new(self.slot.as_ptr().with_addr(address & !OF_STACK))
    }

    #[inline(always)]
    pub(crate) fn address(self) -> NonNull<()> {
        self.slot
    }
}
