//! The reference that a view may store to its memory: one word, whose meaning only the layouts
//! know.

use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// A view's reference to its slot, for backends whose views must notify the pool. An example is a
/// use on a stream that the pool does not order.
///
/// A `SlotRef` is one word. Host backends ignore it, so it costs nothing there. It is neither
/// `Send` nor `Sync`, so a view that stores one stays on its pool's thread. A view of a
/// [stacked](crate::Stacked) pool refers to the pool instead of a slot.
pub struct SlotRef<B> {
    slot: NonNull<()>,
    /// Invariant, because the type of the memory at the address depends on the backend.
    backend: PhantomData<fn(B) -> B>,
}

/// The tag bit in the address of a stacked pool's state. Slots and states are aligned to more than
/// one byte, so the bit is free.
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
    /// `slot` is the address of a slot, and not of a sentinel, in a pool of the backend `B`.
    #[inline(always)]
    pub(crate) unsafe fn new(slot: NonNull<()>) -> Self {
        Self { slot, backend: PhantomData }
    }

    /// # Safety
    ///
    /// `state` is the address of the state of a pool of `Stacked<B>`.
    #[inline(always)]
    pub(crate) unsafe fn of_stack(state: NonNull<()>) -> Self {
        Self { slot: state.map_addr(|address| address | OF_STACK), backend: PhantomData }
    }

    /// Returns the address of a stacked pool's state, if the reference was created from one.
    #[inline(always)]
    pub(crate) fn stack(self) -> Option<NonNull<()>> {
        let address = self.slot.addr().get();
        if address & OF_STACK == 0 {
            return None;
        }
        NonNull::new(self.slot.as_ptr().with_addr(address & !OF_STACK))
    }

    /// Returns the slot's address.
    #[inline(always)]
    pub(crate) fn address(self) -> NonNull<()> {
        self.slot
    }
}
