//! The part of a [`SlotRef`] that the views of a backend for both layouts use.

use core::ptr::NonNull;

use super::state::StackState;
use crate::slot_ref::SlotRef;
use crate::stacked::{BlockOf, StackedBackend};

impl<B: StackedBackend> SlotRef<B> {
    /// Returns the context of the view's pool.
    ///
    /// # Safety
    ///
    /// Same as for [`context`](Self::context).
    #[inline]
    #[must_use]
    pub unsafe fn pool_context(&self) -> &B::Context {
        // SAFETY: the same contract, which the caller upholds.
        match unsafe { self.stack_state() } {
            Some(state) => &state.context,
            // SAFETY: as above, and the view is of a slot.
            None => unsafe { self.context() },
        }
    }

    /// Returns the block that contains the view's bytes. `start` is the address of one of them.
    ///
    /// # Safety
    ///
    /// The view that has this reference is in use, on the thread that owns the pool, and has at
    /// least one byte.
    #[must_use]
    pub unsafe fn block_of(&self, start: NonNull<u8>) -> BlockOf<B::Block> {
        // SAFETY: the same contract, which the caller upholds.
        let Some(state) = (unsafe { self.stack_state() }) else {
            // SAFETY: as above, and the view is of a slot.
            return BlockOf::Slot(unsafe { self.block() });
        };
        let block = state.with_chunks(|chunks| chunks.block_around(start.as_ptr()));
        debug_assert!(block.is_some(), "a view in use lies in a chunk");
        BlockOf::Stack(B::block_at(block.and_then(NonNull::new).unwrap_or(start)))
    }

    /// Arms bytes of the view: [`PoolBackend::reuse`](crate::PoolBackend::reuse) or [`StackedBackend::reuse_bytes`] is
    /// called before they are reused. Nothing depends on the view being dropped.
    ///
    /// # Safety
    ///
    /// Same as for [`arm`](Self::arm), and the `bytes` bytes from `start` on are the view's.
    pub unsafe fn arm_bytes(self, start: NonNull<u8>, bytes: usize) {
        // SAFETY: the same contract, which the caller upholds.
        match unsafe { self.stack_state() } {
            Some(state) => state.arm(start.as_ptr(), bytes),
            // SAFETY: as above, and the view is of a slot.
            None => unsafe { self.arm() },
        }
    }

    /// Returns the state of the view's pool, if the pool is stacked.
    ///
    /// # Safety
    ///
    /// The view that has this reference is in use.
    #[inline]
    unsafe fn stack_state<'s>(self) -> Option<&'s StackState<B>> {
        let state = self.stack()?;
        // SAFETY: the address of a pool's state (`SlotRef::of_stack`); the pool outlives its views (caller), and there are
        // only shared references to its state.
        Some(unsafe { state.cast::<StackState<B>>().as_ref() })
    }
}
