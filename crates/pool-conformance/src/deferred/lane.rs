//! Defines commands, the blocks that they access, and the lane that stores the commands until the
//! next wait. This file defines buffers, lanes, and commands together, because they refer to one
//! another. A buffer refers to its lane, a lane refers to its commands, and a command refers to its
//! block.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::atomic::{AtomicU8, Ordering};

use pool_core::bytemuck;

use super::flaw::ViewFlaw;
use crate::ledger::{Fault, Ledger};

/// A block's memory, together with the lane that stores the block's pending work.
pub(crate) struct Buffer {
    address: usize,
    pub(crate) bytes: usize,
    /// The block's bytes, stored as words. The bytes are `None` once the block has been freed.
    pub(crate) memory: RefCell<Option<Vec<u64>>>,
    pub(crate) lane: Rc<Lane>,
}

impl Buffer {
    pub(crate) fn new(address: usize, bytes: usize, lane: Rc<Lane>) -> Self {
        let words = vec![0; bytes.div_ceil(8)];
        Self { address, bytes, memory: RefCell::new(Some(words)), lane }
    }

    /// Returns `true` unless the block has been freed.
    pub(crate) fn is_live(&self) -> bool {
        self.memory.borrow().is_some()
    }
}

/// A block that refers to one of its queue's buffers without owning the buffer. Another backend can
/// store a driver's reference-counted handles in its context so that its `Copy` blocks can refer to
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeferredBlock(Option<NonNull<Buffer>>);

impl DeferredBlock {
    pub(crate) const ALIGN: usize = 64;
    /// The block of an empty slot.
    pub(crate) const NOTHING: Self = Self(None);

    pub(crate) fn new(buffer: Buffer) -> Self {
        Self(Some(NonNull::from(Box::leak(Box::new(buffer)))))
    }

    /// # Safety
    ///
    /// The buffer must not have been destroyed, and no other block may refer to it.
    pub(crate) unsafe fn destroy(self) {
        if let Some(buffer) = self.0 {
            // SAFETY: `new` created the buffer with `Box::leak`. The caller gives up ownership of
            // the buffer.
            drop(unsafe { Box::from_raw(buffer.as_ptr()) });
        }
    }

    /// Returns the buffer, or `None` if the block belongs to an empty slot.
    pub(crate) fn buffer(&self) -> Option<&Buffer> {
        // SAFETY: a buffer lives as long as its queue, which is the pool's context. Blocks exist
        // only in the pool's slots, the pool's views, and the queue's commands. All references to a
        // buffer are shared.
        self.0.map(|buffer| unsafe { buffer.as_ref() })
    }

    /// Returns a number that identifies the block's bytes. Even for the block of an empty slot, the
    /// number is aligned like an address.
    #[must_use]
    pub fn address(self) -> usize {
        self.buffer().map_or(Self::ALIGN, |buffer| buffer.address)
    }

    pub(crate) fn enqueue(self, command: impl FnOnce(Self) -> Command) {
        if let Some(buffer) = self.buffer() {
            buffer.lane.push(command(self));
        }
    }
}

/// The enqueued commands that have not run yet.
pub(crate) struct Lane {
    commands: RefCell<VecDeque<Command>>,
    /// Commands from other queues. Only [`join`](Self::join) orders the commands of other queues
    /// relative to this queue's commands.
    elsewhere: RefCell<VecDeque<Command>>,
    /// The copies that a faulty backend enqueues only at the next read
    /// ([`ViewFlaw::CopiesWhenRead`]).
    postponed: RefCell<VecDeque<Command>>,
    is_running: Cell<bool>,
    pub(crate) flaw: Cell<ViewFlaw>,
    pub(crate) ledger: Ledger,
}

/// A single operation on a block.
pub(crate) enum Command {
    /// Writes bytes to the block, starting at an offset.
    Write { block: DeferredBlock, offset: usize, bytes: Vec<u8> },
    /// Writes the bytes that an earlier command read.
    WriteFound { block: DeferredBlock, offset: usize, found: Rc<RefCell<Vec<u8>>> },
    /// Repeats a pattern from the start of the block until `bytes` bytes are written.
    Repeat { block: DeferredBlock, pattern: Vec<u8>, bytes: usize },
    /// Copies the bytes that a source contains when the command runs. Only faulty backends enqueue
    /// `WriteFrom`, because the command reads its source too late.
    WriteFrom { block: DeferredBlock, source: Rc<[AtomicU8]> },
    /// Reads bytes from the block, starting at an offset.
    Read { block: DeferredBlock, offset: usize, bytes: usize, into: Rc<RefCell<Vec<u8>>> },
    /// Frees the block's memory.
    Free { block: DeferredBlock },
}

impl Command {
    fn block(&self) -> DeferredBlock {
        match *self {
            Self::Write { block, .. }
            | Self::WriteFrom { block, .. }
            | Self::WriteFound { block, .. }
            | Self::Repeat { block, .. }
            | Self::Read { block, .. }
            | Self::Free { block } => block,
        }
    }

    /// Returns `true` if this command repeats the pattern `what` in the block `to`.
    pub(crate) fn repeats(&self, to: DeferredBlock, what: &[u8]) -> bool {
        matches!(self, Self::Repeat { block, pattern, .. } if *block == to && pattern == what)
    }
}

impl Lane {
    /// Creates a lane that contains no commands.
    pub(crate) fn new(ledger: Ledger) -> Self {
        Self {
            commands: RefCell::default(),
            elsewhere: RefCell::default(),
            postponed: RefCell::default(),
            is_running: Cell::new(false),
            flaw: Cell::default(),
            ledger,
        }
    }

    /// Returns the number of this queue's commands that have not run yet.
    pub(crate) fn waiting(&self) -> usize {
        self.commands.borrow().len()
    }

    /// Enqueues a command.
    pub(crate) fn push(&self, command: Command) {
        self.commands.borrow_mut().push_back(command);
    }

    /// Postpones commands until the next read. Only faulty backends call `postpone`.
    pub(crate) fn postpone(&self, commands: [Command; 2]) {
        self.postponed.borrow_mut().extend(commands);
    }

    /// Enqueues the postponed commands.
    pub(crate) fn push_postponed(&self) {
        self.commands.borrow_mut().append(&mut self.postponed.borrow_mut());
    }

    /// Inserts a command immediately before the last enqueued command. Only faulty backends call
    /// `push_before_last`.
    pub(crate) fn push_before_last(&self, command: Command) {
        let mut commands = self.commands.borrow_mut();
        let at = commands.len().saturating_sub(1);
        commands.insert(at, command);
    }

    /// Enqueues a command as if it came from another queue.
    pub(crate) fn push_elsewhere(&self, command: Command) {
        self.elsewhere.borrow_mut().push_back(command);
    }

    /// Ensures that the work that other queues have enqueued on a block runs before all later work.
    pub(crate) fn join(&self, block: DeferredBlock) {
        let mut elsewhere = self.elsewhere.borrow_mut();
        let (joined, left) = elsewhere.drain(..).partition(|command| command.block() == block);
        *elsewhere = left;
        self.commands.borrow_mut().extend::<VecDeque<_>>(joined);
    }

    /// Runs all enqueued commands, followed by the commands from other queues.
    pub(crate) fn wait(&self) {
        if self.is_running.replace(true) {
            return;
        }
        while let Some(command) = self.next() {
            self.run(command);
        }
        self.is_running.set(false);
    }

    /// Runs at most `most` commands.
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

    /// Runs a command immediately, ahead of all enqueued commands.
    pub(crate) fn run(&self, command: Command) {
        match command {
            Command::Write { block, offset, bytes } => {
                self.with_bytes(block, offset, bytes.len(), |place| place.copy_from_slice(&bytes));
            }
            Command::WriteFrom { block, source } => {
                let bytes = source.iter().map(|byte| byte.load(Ordering::Relaxed)).collect();
                self.run(Command::Write { block, offset: 0, bytes });
            }
            Command::WriteFound { block, offset, found } => {
                let bytes = found.take();
                self.run(Command::Write { block, offset, bytes });
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

    /// Calls `code` with the bytes in a range of a block. If the range does not lie within the
    /// block, the function records a fault instead of calling `code`.
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
        let all: &mut [u8] = bytemuck::cast_slice_mut(words);
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
