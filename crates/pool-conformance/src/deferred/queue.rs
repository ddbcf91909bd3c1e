//! The queue: commands wait in it until somebody waits for them, and then run one by one, in the order
//! in which they were enqueued. What other queues do to a block comes when it pleases: as late as can be.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use super::backend::{Buffer, DeferredBlock};
use crate::ledger::{Fault, Ledger};

/// The context of a pool of [`Deferred`](super::Deferred) memory: a queue, and the table that owns the
/// blocks' buffers.
pub struct Queue {
    lane: Rc<Lane>,
    /// Every buffer that was ever made. A buffer is an identity for as long as the queue lives, also after
    /// its memory is gone: so work on a block that was freed is noticed, and nothing else comes of it.
    buffers: RefCell<Vec<DeferredBlock>>,
}

/// What is enqueued and has not run.
pub(crate) struct Lane {
    commands: RefCell<VecDeque<Command>>,
    /// Work of other queues, which nothing orders but [`join`](Self::join).
    elsewhere: RefCell<VecDeque<Command>>,
    is_running: Cell<bool>,
    pub(crate) ledger: Ledger,
}

/// One piece of work.
pub(crate) enum Command {
    /// Writes bytes from an offset on.
    Write { block: DeferredBlock, offset: usize, bytes: Vec<u8> },
    /// Repeats a pattern from the start on, for so many bytes.
    Repeat { block: DeferredBlock, pattern: Vec<u8>, bytes: usize },
    /// Writes what a source holds when this runs: too late, for backends that are wrong on purpose.
    WriteFrom { block: DeferredBlock, source: Rc<[AtomicU8]> },
    /// Reads bytes.
    Read { block: DeferredBlock, offset: usize, bytes: usize, into: Rc<RefCell<Vec<u8>>> },
    /// Gives the memory back.
    Free { block: DeferredBlock },
}

impl Command {
    fn block(&self) -> DeferredBlock {
        match *self {
            Self::Write { block, .. }
            | Self::WriteFrom { block, .. }
            | Self::Repeat { block, .. }
            | Self::Read { block, .. }
            | Self::Free { block } => block,
        }
    }

    /// Whether this repeats a pattern in a block.
    pub(crate) fn repeats(&self, to: DeferredBlock, what: &[u8]) -> bool {
        matches!(self, Self::Repeat { block, pattern, .. } if *block == to && pattern == what)
    }
}

/// Identities lie apart like the addresses of blocks, and are as aligned.
static NEXT: AtomicUsize = AtomicUsize::new(DeferredBlock::ALIGN * 16);

impl Queue {
    /// A queue whose blocks a ledger knows.
    #[must_use]
    pub fn new(ledger: Ledger) -> Self {
        let lane = Lane {
            commands: RefCell::default(),
            elsewhere: RefCell::default(),
            is_running: Cell::new(false),
            ledger,
        };
        Self { lane: Rc::new(lane), buffers: RefCell::default() }
    }

    /// How many commands wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.lane.commands.borrow().len()
    }

    /// Runs all that waits.
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

    /// As [`make`](Self::make), so many bytes after an aligned place: for backends that are wrong on purpose.
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

impl Lane {
    /// Enqueues work.
    pub(crate) fn push(&self, command: Command) {
        self.commands.borrow_mut().push_back(command);
    }

    /// Enqueues work before what was enqueued last: for backends that are wrong on purpose.
    pub(crate) fn push_before_last(&self, command: Command) {
        let mut commands = self.commands.borrow_mut();
        let at = commands.len().saturating_sub(1);
        commands.insert(at, command);
    }

    /// Enqueues work on another queue.
    pub(crate) fn push_elsewhere(&self, command: Command) {
        self.elsewhere.borrow_mut().push_back(command);
    }

    /// Makes what other queues do to a block come before all that is enqueued from now on.
    pub(crate) fn join(&self, block: DeferredBlock) {
        let mut elsewhere = self.elsewhere.borrow_mut();
        let (joined, left) = elsewhere.drain(..).partition(|command| command.block() == block);
        *elsewhere = left;
        self.commands.borrow_mut().extend::<VecDeque<_>>(joined);
    }

    /// Runs all that waits; what other queues do comes last.
    pub(crate) fn wait(&self) {
        if self.is_running.replace(true) {
            return;
        }
        while let Some(command) = self.next() {
            self.run(command);
        }
        self.is_running.set(false);
    }

    /// Runs so many commands at most.
    pub(crate) fn run_some(&self, most: usize) {
        for _ in 0..most {
            let Some(command) = self.next() else { return };
            self.run(command);
        }
    }

    fn next(&self) -> Option<Command> {
        let next = self.commands.borrow_mut().pop_front();
        next.or_else(|| self.elsewhere.borrow_mut().pop_front())
    }

    /// Runs a command out of turn.
    pub(crate) fn run(&self, command: Command) {
        match command {
            Command::Write { block, offset, bytes } => {
                self.with_bytes(block, offset, bytes.len(), |place| place.copy_from_slice(&bytes));
            }
            Command::WriteFrom { block, source } => {
                let bytes = source.iter().map(|byte| byte.load(Ordering::Relaxed)).collect();
                self.run(Command::Write { block, offset: 0, bytes });
            }
            Command::Repeat { block, pattern, bytes } => {
                self.with_bytes(block, 0, bytes, |place| {
                    let parts = place.chunks_mut(pattern.len());
                    parts.for_each(|part| part.copy_from_slice(&pattern[..part.len()]));
                });
            }
            Command::Read { block, offset, bytes, into } => {
                let mut found = vec![0; bytes];
                self.with_bytes(block, offset, bytes, |place| found.copy_from_slice(place));
                into.replace(found);
            }
            Command::Free { block } => {
                if let Some(buffer) = block.buffer() {
                    buffer.memory.take();
                    self.ledger.returned(block.address());
                }
            }
        }
    }

    /// Runs code with bytes of a block; where there are none, that is a fault, and nothing is done.
    fn with_bytes(
        &self,
        block: DeferredBlock,
        offset: usize,
        bytes: usize,
        code: impl FnOnce(&mut [u8]),
    ) {
        let (Some(buffer), 1..) = (block.buffer(), bytes) else { return };
        let address = block.address();
        let mut memory = buffer.memory.borrow_mut();
        let Some(words) = memory.as_mut() else {
            return self.ledger.note_fault(Fault::UsedAfterFree { address });
        };
        let all: &mut [u8] = pool_core::bytemuck::cast_slice_mut(words);
        match all[..buffer.bytes].get_mut(offset..offset + bytes) {
            Some(place) => code(place),
            None => self.ledger.note_fault(Fault::Beyond {
                address,
                bytes: buffer.bytes,
                end: offset + bytes,
            }),
        }
    }
}
