//! An adaptor that counts and refuses allocations, for backends without a ledger of their own. The
//! ledger adaptor reports to a [`Ledger`] every block that the pool allocates or frees.

use std::fmt;

use pool_core::{Advice, HostBackend, PoolBackend, StackedBackend};

use crate::adapted::{AdaptedBackend, AdaptedError, Adaptor, StackedAdaptor};
use crate::ledger::Ledger;

/// A host backend that has a [`Ledger`]. Create a pool with `Pool::<LedgeredBackend<B>>::new(unsafe
/// { LedgeredContext::new(context, ledger) })`.
///
/// The ledger records only the calls that come from the pool. Use a leak detector to verify that
/// `free` really frees the memory.
pub type LedgeredBackend<B> = AdaptedBackend<LedgeredContext<B>>;

/// The context of a [`LedgeredBackend`].
pub struct LedgeredContext<B: PoolBackend> {
    context: B::Context,
    ledger: Ledger,
}

impl<B: HostBackend> LedgeredContext<B> {
    /// Creates a context that records its blocks in a ledger.
    ///
    /// # Safety
    ///
    /// The views of `B` must not use the [`SlotRef`](pool_core::SlotRef) that they receive, because
    /// the slot belongs to a different backend. Slices satisfy this requirement.
    #[must_use]
    pub unsafe fn new(context: B::Context, ledger: Ledger) -> Self {
        Self { context, ledger }
    }
}

impl<B: PoolBackend> fmt::Debug for LedgeredContext<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LedgeredContext").field("ledger", &self.ledger).finish_non_exhaustive()
    }
}

// SAFETY: the blocks belong to `B`, and only `B` allocates and frees them. The caller of
// `LedgeredContext::new` guarantees that no view of `B` uses its slot.
unsafe impl<B: HostBackend> Adaptor for LedgeredContext<B> {
    type Inner = B;
    type Descriptor = B::Descriptor;

    fn inner(&self) -> &B::Context {
        &self.context
    }

    fn allocate(&self, bytes: usize, advice: Advice) -> Result<B::Block, AdaptedError<Self>> {
        self.ledger.ask(bytes)?;
        let block = B::allocate(&self.context, bytes, advice).map_err(AdaptedError::Inner)?;
        self.ledger.given(B::host_pointer(block).addr(), bytes);
        Ok(block)
    }

    unsafe fn free(&self, block: B::Block, bytes: usize) {
        if self.ledger.freed(B::host_pointer(block).addr(), bytes) {
            // SAFETY: the caller upholds the contract of `free`. The ledger has confirmed that the
            // block was allocated with this size.
            unsafe { B::free(&self.context, block, bytes) };
        }
    }

    fn settle(&self) {
        self.ledger.note_settled();
        B::settle(&self.context);
    }
}

// SAFETY: the adaptor passes blocks and parts of blocks to the inner backend unchanged. The adaptor
// uses the inner backend's views, which do not use their slot.
unsafe impl<B: HostBackend + StackedBackend> StackedAdaptor for LedgeredContext<B> {}
