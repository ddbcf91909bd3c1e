//! The queue: commands are in it until a wait, and then run one by one, in the order in which they
//! were enqueued. The work of other queues on a block runs as late as possible.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::lane::{Buffer, DeferredBlock, Lane};
use crate::ledger::Ledger;

/// The context of a pool of [`DeferredBackend`](super::DeferredBackend) memory: a queue, and the table that owns the
/// blocks' buffers.
pub struct Queue {
    lane: Rc<Lane>,
    /// Every buffer that was ever made. A buffer is an identity for as long as the queue lives,
    /// even after its memory is freed: so work on a freed block is noticed, and has no other
    /// effect.
    buffers: RefCell<Vec<DeferredBlock>>,
}

/// Identities lie apart like the addresses of blocks, and are as aligned.
static NEXT: AtomicUsize = AtomicUsize::new(DeferredBlock::ALIGN * 16);

impl Queue {
    /// Creates a queue whose blocks are recorded in a ledger.
    #[must_use]
    pub fn new(ledger: Ledger) -> Self {
        Self { lane: Rc::new(Lane::new(ledger)), buffers: RefCell::default() }
    }

    /// Returns the number of commands that have not run.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.lane.waiting()
    }

    /// Runs all enqueued commands.
    pub fn wait(&self) {
        self.lane.wait();
    }

    pub(crate) fn lane(&self) -> &Lane {
        &self.lane
    }

    /// Returns the block that was made last.
    pub(crate) fn newest(&self) -> Option<DeferredBlock> {
        self.buffers.borrow().last().copied()
    }

    /// Creates a block of zeros.
    pub(crate) fn make(&self, bytes: usize) -> DeferredBlock {
        self.make_moved(bytes, 0)
    }

    /// Does as [`make`](Self::make), `by` bytes after an aligned address: for faulty backends.
    pub(crate) fn make_moved(&self, bytes: usize, by: usize) -> DeferredBlock {
        let apart = (by + bytes).next_multiple_of(DeferredBlock::ALIGN) + DeferredBlock::ALIGN;
        let address = NEXT.fetch_add(apart, Ordering::Relaxed) + by;
        let block = DeferredBlock::new(Buffer::new(address, bytes, Rc::clone(&self.lane)));
        self.buffers.borrow_mut().push(block);
        self.lane.ledger.given(address, bytes);
        block
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.lane.wait();
        for block in self.buffers.take() {
            // SAFETY: the pool is gone and with it its views, and all enqueued work has run:
            // nothing names the buffer any more.
            unsafe { block.destroy() };
        }
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("waiting", &self.waiting()).finish_non_exhaustive()
    }
}
