//! What a view may keep of the slot that it came from: one word, whose meaning only the raw layer knows.

use core::fmt;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// A view's hold on the slot that it came from, for backends whose views must tell the pool
/// something, such as a use on a stream that the pool does not order.
///
/// A `SlotRef` is one word. Host backends ignore it, and then it costs nothing. It is neither `Send` nor `Sync`: a view
/// that keeps one stays on its pool's thread.
pub struct SlotRef<B> {
    slot: NonNull<()>,
    /// Invariant: what is at the address depends on the backend in every way.
    backend: PhantomData<fn(B) -> B>,
}

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
    /// `slot` is the address of a slot, no sentinel, of a pool of the backend `B`.
    #[inline(always)]
    pub(crate) unsafe fn new(slot: NonNull<()>) -> Self {
        Self { slot, backend: PhantomData }
    }

    /// The slot's address.
    #[inline(always)]
    pub(crate) fn address(self) -> NonNull<()> {
        self.slot
    }
}
