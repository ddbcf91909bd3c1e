//! The backend: blocks that are identities, and everything about their contents a command.

use std::cell::RefCell;
use std::ptr::NonNull;
use std::rc::Rc;

use pool_core::{Advice, Device, Element, PoolBackend, Reuse, SlotRef, bytemuck};

use super::queue::{Command, Lane, Queue};
use super::view::{AnySlot, DeferredView, DeferredViewRef};
use crate::ledger::Refused;

/// Host memory behind a queue. Nothing that is enqueued runs before somebody waits: a read of a view, the
/// pool's [`settle`](PoolBackend::settle), or the end of the queue.
#[derive(Debug)]
pub struct Deferred;

/// What a block stands for.
pub(crate) struct Buffer {
    address: usize,
    pub(crate) bytes: usize,
    /// `None` once it was freed.
    pub(crate) memory: RefCell<Option<Vec<u64>>>,
    pub(crate) lane: Rc<Lane>,
}

impl Buffer {
    pub(crate) fn new(address: usize, bytes: usize, lane: Rc<Lane>) -> Self {
        let words = vec![0; bytes.div_ceil(8)];
        Self { address, bytes, memory: RefCell::new(Some(words)), lane }
    }

    /// Whether it was not freed.
    pub(crate) fn is_live(&self) -> bool {
        self.memory.borrow().is_some()
    }
}

/// A block: which buffer of its queue, and no owner of it. That is how a counted handle of a driver becomes
/// a `Copy` block: the context's table owns the handle, and the block says which one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeferredBlock(Option<NonNull<Buffer>>);

impl DeferredBlock {
    pub(crate) const ALIGN: usize = 64;

    pub(crate) fn new(buffer: Buffer) -> Self {
        Self(Some(NonNull::from(Box::leak(Box::new(buffer)))))
    }

    /// # Safety
    ///
    /// The buffer was not destroyed, and nothing names it any more.
    pub(crate) unsafe fn destroy(self) {
        if let Some(buffer) = self.0 {
            // SAFETY: leaked from a box by `new`, and given up by the caller.
            drop(unsafe { Box::from_raw(buffer.as_ptr()) });
        }
    }

    /// The buffer; none for the block of an empty slot.
    pub(crate) fn buffer(&self) -> Option<&Buffer> {
        // SAFETY: a buffer lives as long as its queue, which is its pool's context: blocks are in the
        // pool's slots, in its views and in the queue's commands, and nowhere else. References are shared.
        self.0.map(|buffer| unsafe { buffer.as_ref() })
    }

    /// What tells the block's bytes from those of others. An empty slot's is aligned, too.
    #[must_use]
    pub fn address(self) -> usize {
        self.buffer().map_or(Self::ALIGN, |buffer| buffer.address)
    }

    fn enqueue(self, command: impl FnOnce(Self) -> Command) {
        if let Some(buffer) = self.buffer() {
            buffer.lane.push(command(self));
        }
    }
}

/// What is kept beside a cached shape: a copy of its lengths, as a device would have one in its memory.
#[derive(Clone, Debug, Default)]
pub struct KeptShape(Option<Vec<usize>>);

impl KeptShape {
    /// The lengths that are kept; those given, where it is new.
    pub fn lengths(&mut self, dims: &[usize]) -> &[usize] {
        self.0.get_or_insert_with(|| dims.to_vec())
    }
}

// SAFETY: a block names a buffer that its context owns until it is dropped, so an identity is never dangling
// and never moves; its memory is zeroed, reached by commands alone, and gone when the command `Free` has run,
// which is behind all that was enqueued before. A queue is not `Send`. Views keep offsets within their block;
// a command that leaves one does nothing. No method re-enters the pool: commands run no code but this file's.
// `free` and `settle` do not unwind: nothing of theirs is borrowed while they run.
unsafe impl PoolBackend for Deferred {
    type Context = Queue;
    type Block = DeferredBlock;
    type View<'s, T: Element> = DeferredView<'s, T>;
    type ViewRef<'s, T: Element> = DeferredViewRef<'s, T>;
    type Descriptor = KeptShape;
    type Error = Refused;

    const ALIGN: usize = DeferredBlock::ALIGN;
    const DANGLING: DeferredBlock = DeferredBlock(None);

    fn device(_: &Queue) -> Device {
        Device { kind: "deferred", ordinal: None }
    }

    fn allocate(queue: &Queue, bytes: usize, _: Advice) -> Result<DeferredBlock, Refused> {
        queue.lane().ledger.ask(bytes)?;
        Ok(queue.make(bytes))
    }

    unsafe fn free(queue: &Queue, block: DeferredBlock, bytes: usize) {
        if queue.lane().ledger.freeing(block.address(), bytes) {
            block.enqueue(|block| Command::Free { block });
        }
    }

    fn settle(queue: &Queue) {
        queue.lane().ledger.note_settled();
        queue.wait();
    }

    unsafe fn view<'s, T: Element>(
        block: DeferredBlock,
        slot: SlotRef<Self>,
        length: usize,
    ) -> DeferredView<'s, T> {
        // SAFETY: the caller's promise.
        unsafe { DeferredView::new(block, AnySlot::new(slot), length) }
    }

    unsafe fn view_ref<'s, T: Element>(
        block: DeferredBlock,
        _: SlotRef<Self>,
        length: usize,
    ) -> DeferredViewRef<'s, T> {
        // SAFETY: the caller's promise.
        unsafe { DeferredViewRef::new(block, length) }
    }

    unsafe fn reuse(queue: &Queue, block: DeferredBlock, why: Reuse) -> Result<(), Refused> {
        queue.lane().join(block);
        queue.lane().ledger.note_reuse(why)
    }

    unsafe fn set_bytes(
        _: &Queue,
        block: DeferredBlock,
        value: u8,
        bytes: usize,
    ) -> Result<(), Refused> {
        block.enqueue(|block| Command::Repeat { block, pattern: vec![value; 64], bytes });
        Ok(())
    }

    unsafe fn fill<T: Element>(
        _: &Queue,
        block: DeferredBlock,
        value: T,
        length: usize,
    ) -> Result<(), Refused> {
        let pattern = bytemuck::bytes_of(&value).to_vec();
        let bytes = pattern.len() * length;
        block.enqueue(|block| Command::Repeat { block, pattern, bytes });
        Ok(())
    }

    unsafe fn copy_from_host<T: Element>(
        _: &Queue,
        block: DeferredBlock,
        source: &[T],
    ) -> Result<(), Refused> {
        let bytes = elements_bytes(source).to_vec();
        block.enqueue(|block| Command::Write { block, offset: 0, bytes });
        Ok(())
    }
}

/// The bytes of elements.
pub(crate) fn elements_bytes<T: Element>(elements: &[T]) -> &[u8] {
    if size_of::<T>() == 0 { &[] } else { bytemuck::cast_slice(elements) }
}
