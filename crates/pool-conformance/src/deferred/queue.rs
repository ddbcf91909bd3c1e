//! The queue: commands wait in it until somebody waits for them, and then run one by one, in the order
//! in which they were enqueued. The work of other queues on a block runs as late as can be.

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
    /// Every buffer that was ever made. A buffer is an identity for as long as the queue lives, also after
    /// its memory is gone: so work on a block that was freed is noticed, and nothing else comes of it.
    buffers: RefCell<Vec<DeferredBlock>>,
}

/// Identities lie apart like the addresses of blocks, and are as aligned.
static NEXT: AtomicUsize = AtomicUsize::new(DeferredBlock::ALIGN * 16);

impl Queue {
    /// A queue whose blocks a ledger knows.
    #[must_use]
    pub fn new(ledger: Ledger) -> Self {
        Self { lane: Rc::new(Lane::new(ledger)), buffers: RefCell::default() }
    }

    /// How many commands wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.lane.waiting()
    }

    /// Runs all commands that wait.
    pub fn wait(&self) {
        self.lane.wait();
    }

    pub(crate) fn lane(&self) -> &Lane {
        &self.lane
    }

    /// The block that was made last.
    pub(crate) fn newest(&self) -> Option<DeferredBlock> {
        self.buffers.borrow().last().copied()
    }

    /// A new block of zeros.
    pub(crate) fn make(&self, bytes: usize) -> DeferredBlock {
        self.make_moved(bytes, 0)
    }

    /// As [`make`](Self::make), `by` bytes after an aligned address: for backends that are wrong on purpose.
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
            // SAFETY: the pool is gone and with it its views, and all that was enqueued has run: nothing
            // names the buffer any more.
            unsafe { block.destroy() };
        }
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("waiting", &self.waiting()).finish_non_exhaustive()
    }
}
