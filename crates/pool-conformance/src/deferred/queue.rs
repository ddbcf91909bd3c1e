//! A queue that stores commands until the next wait. During a wait, the commands run one by one in
//! the order in which they were enqueued. If other queues have enqueued work on a block, this work
//! runs as late as possible.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::lane::{Buffer, DeferredBlock, Lane};
use crate::ledger::Ledger;

/// The context of a pool with [`DeferredBackend`](super::DeferredBackend) memory. The context
/// consists of a queue and a table that owns the buffers of all blocks.
pub struct Queue {
    lane: Rc<Lane>,
    /// All buffers that the queue has ever created. A buffer retains its identity until the queue
    /// is dropped, even after its memory has been freed. Work on a freed block is therefore
    /// recorded as a mistake and has no other effect.
    buffers: RefCell<Vec<DeferredBlock>>,
}

/// The number that identifies the next buffer. Buffer numbers have the same spacing and alignment
/// as block addresses.
static NEXT: AtomicUsize = AtomicUsize::new(DeferredBlock::ALIGN * 16);

impl Queue {
    /// Creates a queue that records its blocks in a ledger.
    #[must_use]
    pub fn new(ledger: Ledger) -> Self {
        Self { lane: Rc::new(Lane::new(ledger)), buffers: RefCell::default() }
    }

    /// Returns the number of enqueued commands that have not run yet.
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

    /// Returns the most recently created block.
    pub(crate) fn newest(&self) -> Option<DeferredBlock> {
        self.buffers.borrow().last().copied()
    }

    /// Creates a zero-filled block.
    pub(crate) fn make(&self, bytes: usize) -> DeferredBlock {
        self.make_moved(bytes, 0)
    }

    /// Creates a block that starts `by` bytes after an aligned address. If `by` is 0, the method
    /// behaves like [`make`](Self::make). Only faulty backends pass a nonzero `by`.
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
            // SAFETY: the pool and its views have been dropped, and all enqueued work has run, so
            // nothing refers to the buffer.
            unsafe { block.destroy() };
        }
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("waiting", &self.waiting()).finish_non_exhaustive()
    }
}
