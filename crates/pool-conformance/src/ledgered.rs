//! An adaptor that counts and refuses: it reports every block that the pool takes and frees to a
//! [`Ledger`], for backends that keep none themselves.

use std::fmt;

use pool_core::{Advice, HostBackend, PoolBackend, StackedBackend};

use crate::adapted::{AdaptedBackend, AdaptedError, Adaptor, StackedAdaptor};
use crate::ledger::Ledger;

/// A host backend with a [`Ledger`]: `Pool::<LedgeredBackend<B>>::new(unsafe { LedgeredContext::new(context, ledger) })`.
///
/// The ledger sees the pool's calls only. A leak checker shows that the backend's `free` really
/// frees.
pub type LedgeredBackend<B> = AdaptedBackend<LedgeredContext<B>>;

/// The context of a [`LedgeredBackend`].
pub struct LedgeredContext<B: PoolBackend> {
    context: B::Context,
    ledger: Ledger,
}

impl<B: HostBackend> LedgeredContext<B> {
    /// Creates a context whose blocks a ledger counts.
    ///
    /// # Safety
    ///
    /// Views of `B` do not use the [`SlotRef`](pool_core::SlotRef) that they are given, which is that of
    /// another backend. Slices do not.
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

// SAFETY: blocks are those of `B`, allocated and freed by it alone. That its views do not use their slot
// was promised where the context was made.
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
            // SAFETY: the caller's promise, which the ledger confirms.
            unsafe { B::free(&self.context, block, bytes) };
        }
    }

    fn settle(&self) {
        self.ledger.note_settled();
        B::settle(&self.context);
    }
}

// SAFETY: the adaptor passes blocks and parts of them on, and its views are the inner backend's, which ignore their slot.
unsafe impl<B: HostBackend + StackedBackend> StackedAdaptor for LedgeredContext<B> {}
