//! Implements [`SlotRef`] methods for the views of a backend that supports both layouts.

use core::ptr::NonNull;

use super::state::StackState;
use crate::slot_ref::SlotRef;
use crate::stacked::{BlockOf, StackedBackend};

impl<B: StackedBackend> SlotRef<B> {
    /// Returns the context of the view's pool.
    ///
    /// # Safety
    ///
    /// The requirements are the same as for [`context`](Self::context).
    #[inline]
    #[must_use]
    pub unsafe fn pool_context(&self) -> &B::Context {
        // SAFETY: the caller upholds the safety contract of `stack_state`.
        match unsafe { self.stack_state() } {
            Some(state) => &state.context,
            // SAFETY: the caller upholds the safety contract of `context`. The view's memory is a
            // slot.
            None => unsafe { self.context() },
        }
    }

    /// Returns the block that contains the view's bytes. `start` must be the address of a byte in
    /// the view.
    ///
    /// # Safety
    ///
    /// The view that stores this reference must be in use on the pool's thread and must contain at
    /// least one byte.
    #[must_use]
    pub unsafe fn block_of(&self, start: NonNull<u8>) -> BlockOf<B::Block> {
        // SAFETY: the caller upholds the safety contract of `stack_state`.
        let Some(state) = (unsafe { self.stack_state() }) else {
            // SAFETY: the caller upholds the safety contract of `block`. The view's memory is a
            // slot.
            return BlockOf::Slot(unsafe { self.block() });
        };
        let block = state.with_chunks(|chunks| chunks.block_around(start.as_ptr()));
        debug_assert!(block.is_some(), "a view in use lies in a chunk");
        BlockOf::Stack(B::block_at(block.and_then(NonNull::new).unwrap_or(start)))
    }

    /// Arms bytes of the view, so that the pool calls
    /// [`PoolBackend::reuse`](crate::PoolBackend::reuse) or [`StackedBackend::reuse_bytes`] before
    /// it hands these bytes out again. The `reuse` method is called even if the view is never
    /// dropped.
    ///
    /// # Safety
    ///
    /// The requirements are the same as for [`arm`](Self::arm). The `bytes` bytes that start at
    /// `start` must also belong to the view.
    pub unsafe fn arm_bytes(self, start: NonNull<u8>, bytes: usize) {
        // SAFETY: the caller upholds the safety contract of `stack_state`.
        match unsafe { self.stack_state() } {
            Some(state) => state.arm(start.as_ptr(), bytes),
            // SAFETY: the caller upholds the safety contract of `arm`. The view's memory is a slot.
            None => unsafe { self.arm() },
        }
    }

    /// Returns the state of the view's pool if the pool is stacked.
    ///
    /// # Safety
    ///
    /// The view that stores this reference must be in use.
    #[inline]
    unsafe fn stack_state<'s>(self) -> Option<&'s StackState<B>> {
        let state = self.stack()?;
        // SAFETY: `state` is the address of a pool's state, as `SlotRef::of_stack` requires. The
        // caller guarantees that the view is in use, and a pool outlives its views. Only shared
        // references to the state exist.
        Some(unsafe { state.cast::<StackState<B>>().as_ref() })
    }
}
