//! The deferred backend, whose blocks are identifiers rather than pointers to memory. Only commands
//! can access a block's contents.

use pool_core::{Advice, Device, Element, PoolBackend, Reuse, SlotRef, Slots, ViewError, bytemuck};

use super::lane::{Command, DeferredBlock};
use super::queue::Queue;
use super::view::{AnySlot, DeferredView, DeferredViewRef, elements_bytes};
use crate::ledger::RefusalError;

/// A backend whose host memory is accessed only through a queue. Enqueued commands run only during
/// a wait. A wait occurs when a view is read, when the pool calls [`settle`](PoolBackend::settle),
/// or when the queue is dropped.
#[derive(Debug)]
pub struct DeferredBackend;

/// The descriptor stored with a cached shape. The descriptor contains a copy of the shape's
/// dimensions, just as a device would store one in its own memory.
#[derive(Clone, Debug, Default)]
pub struct KeptShape(Option<Vec<usize>>);

impl KeptShape {
    /// Returns the dimensions that the descriptor contains. If the descriptor is new, the method
    /// stores `dims` in it first.
    pub fn lengths(&mut self, dims: &[usize]) -> &[usize] {
        self.0.get_or_insert_with(|| dims.to_vec())
    }
}

// SAFETY: a block refers to a buffer that its context owns until the context itself is dropped.
// Buffers never move, so a block's reference to its buffer never dangles. The memory is zeroed, and
// only commands access it. The `Free` command frees the memory after all previously enqueued
// commands have run. A queue is not `Send`. Views store offsets within their block. A command has
// no effect if it would access bytes outside its block. Commands run only code from this module, so
// no method re-enters the pool. `free` and `settle` do not unwind, because nothing else borrows the
// state that they use while they run.
unsafe impl PoolBackend for DeferredBackend {
    type Layout = Slots;
    type Context = Queue;
    type Block = DeferredBlock;
    type View<'s, T: Element> = DeferredView<'s, T>;
    type ViewRef<'s, T: Element> = DeferredViewRef<'s, T>;
    type Descriptor = KeptShape;
    type Error = RefusalError;
    type ViewError = ViewError;

    const ALIGN: usize = DeferredBlock::ALIGN;
    const DANGLING: DeferredBlock = DeferredBlock::NOTHING;

    fn device(_: &Queue) -> Device {
        Device { kind: "deferred", ordinal: None }
    }

    fn allocate(queue: &Queue, bytes: usize, _: Advice) -> Result<DeferredBlock, RefusalError> {
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
        // SAFETY: the caller upholds the contract of `view`. `DeferredView::new` has no further
        // requirements.
        unsafe { DeferredView::new(block, AnySlot::new(slot), length) }
    }

    unsafe fn view_ref<'s, T: Element>(
        block: DeferredBlock,
        _: SlotRef<Self>,
        length: usize,
    ) -> DeferredViewRef<'s, T> {
        // SAFETY: the caller upholds the contract of `view_ref`. `DeferredViewRef::new` has no
        // further requirements.
        unsafe { DeferredViewRef::new(block, length) }
    }

    unsafe fn reuse(queue: &Queue, block: DeferredBlock, why: Reuse) -> Result<(), RefusalError> {
        queue.lane().join(block);
        queue.lane().ledger.note_reuse(why)
    }

    unsafe fn set_bytes(
        _: &Queue,
        block: DeferredBlock,
        value: u8,
        bytes: usize,
    ) -> Result<(), RefusalError> {
        block.enqueue(|block| Command::Repeat { block, pattern: vec![value; 64], bytes });
        Ok(())
    }

    unsafe fn fill<T: Element>(
        _: &Queue,
        block: DeferredBlock,
        value: T,
        length: usize,
    ) -> Result<(), RefusalError> {
        let pattern = bytemuck::bytes_of(&value).to_vec();
        let bytes = pattern.len() * length;
        block.enqueue(|block| Command::Repeat { block, pattern, bytes });
        Ok(())
    }

    unsafe fn copy_from_host<T: Element>(
        _: &Queue,
        block: DeferredBlock,
        source: &[T],
    ) -> Result<(), RefusalError> {
        let bytes = elements_bytes(source).to_vec();
        block.enqueue(|block| Command::Write { block, offset: 0, bytes });
        Ok(())
    }
}
