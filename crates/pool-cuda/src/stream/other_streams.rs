//! Streams other than the pool's that use its memory, and how they are ordered, without a destructor.
//!
//! Giving a pointer out for another stream makes that stream wait for the pool's, notes the stream
//! with the block, and arms the block's slot. Later, when the block is handed out again, freed, or used
//! on the pool's stream, an event is recorded on the noted stream *then*, behind whatever was enqueued
//! there meanwhile, and the pool's stream waits for it. So it does not matter when the work was
//! enqueued, nor whether a guard or view was dropped or forgotten.
//!
//! A note is kept until the block is handed out again or freed: until then work may still be enqueued with the
//! pointer that was given out. The note goes earlier where its stream was waited for *after* nobody else had that
//! stream, nor could get it: see [`BlockUser::seems_alone`].

use std::cell::{Cell, OnceCell};
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};

use crate::driver::answer::unless_gone;
use crate::driver::calls::{self, Address};
use crate::driver::capture::{Capture, capture_of};
use crate::driver::context::bind;
use crate::driver::default_stream::is_per_thread;
use crate::driver::error::CudaError;
use crate::driver::event::Event;
use crate::stream::block_user::BlockUser;
use crate::stream::block_uses::{BlockUse, BlockUses, UseCopy};

/// The streams that use blocks of one pool.
#[derive(Debug)]
pub(crate) struct OtherStreams {
    uses: BlockUses,
    /// An event of the pool's own context, made when it is first needed.
    event: OnceCell<Event>,
    /// Whether the pool orders other streams at all.
    on: Cell<bool>,
    /// The block whose stream cudarc asked for last, and how often it asked since it was given a pointer.
    asked: Cell<(Address, u32)>,
}

/// A stream that memory is lent to.
pub(crate) struct Borrower<'a> {
    pub(crate) stream: &'a CudaStream,
    /// The same stream, as it is kept.
    pub(crate) user: BlockUser,
    /// Whether the stream may become a part of the capture that the pool's stream is in.
    pub(crate) admitted: bool,
}

impl Default for OtherStreams {
    fn default() -> Self {
        Self {
            uses: BlockUses::default(),
            event: OnceCell::new(),
            on: Cell::new(true),
            asked: Cell::default(),
        }
    }
}

impl OtherStreams {
    /// Stops, or starts again, to order other streams.
    pub(crate) fn set_on(&self, on: bool) {
        self.on.set(on);
    }

    /// Whether no other stream uses any block: the usual case, which costs no more than this question.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.uses.is_empty()
    }

    /// Notes that cudarc asked which stream a block is on.
    pub(crate) fn note_question(&self, block: Address) {
        let (before, times) = self.asked.get();
        self.asked.set((block, if before == block { times.saturating_add(1) } else { 1 }));
    }

    /// Whether a pointer that cudarc asks for on the pool's own stream may be for another device.
    ///
    /// cudarc's `memcpy_dtod` asks for the source's stream. Where that stream is of another context, `memcpy_dtod`
    /// asks for it again, then for the pointer on *that* stream, which it waits for; and it tells nobody that the
    /// destination's stream uses the memory. So a caller that asks twice for the stream before it asks for the
    /// pointer may be copying to another device.
    pub(crate) fn may_be_for_another_device(&self, block: Address) -> bool {
        let (asked, times) = self.asked.take();
        asked == block && times > 1 && self.on.get()
    }

    /// Notes that some stream of another device uses a block.
    pub(crate) fn note_another_device(&self, block: Address) -> Result<(), CudaError> {
        self.note(BlockUse { block, user: BlockUser::UnknownDevice, capture: None })
    }

    /// Makes the borrower's stream, which is not the pool's stream `own`, come after all that `own` holds, and after
    /// all other streams that use the block; notes that the borrower uses the block from now on.
    pub(crate) fn lend(
        &self,
        block: Address,
        to: Borrower<'_>,
        own: &CudaStream,
    ) -> Result<(), CudaError> {
        if !self.on.get() {
            return Ok(());
        }
        let ordered = self.order(block, &to, own);
        let noted = match ordered {
            Ok(capture) => Some(capture),
            // Where the driver failed to order the streams, the host may wait instead, and the block is then used.
            Err(CudaError::Call { .. }) => Some(None),
            Err(_) => None,
        };
        if let Some(capture) = noted {
            self.note(BlockUse { block, user: to.user, capture })?;
        }
        // cudarc made the stream's context the current one, asked for the pointer, and goes on with the stream's
        // bare handle.
        ordered.map(drop).and(bind(to.stream.context()))
    }

    fn order(
        &self,
        block: Address,
        to: &Borrower<'_>,
        own: &CudaStream,
    ) -> Result<Capture, CudaError> {
        let Borrower { stream, user, admitted } = to;
        let capture = capture_of(own)?;
        if !admitted && capture_of(stream)? != capture {
            return Err(CudaError::Capturing { operation: "order another stream with its own" });
        }
        // What a stream did before a capture is no part of the graph, not even where the same stream goes on.
        let is_in_order =
            |used: &BlockUse| used.user.is_same_stream(user) && used.capture == capture;
        self.join_where(own, |used| used.block == block && !is_in_order(used))?;
        if is_per_thread(stream) {
            return wait_for_every_thread(own, capture);
        }
        let event = self.event(own.context())?;
        event.record(own)?;
        event.hold_back(stream)?;
        Ok(capture)
    }

    fn note(&self, new: BlockUse) -> Result<(), CudaError> {
        let is_known = |used: &BlockUse| {
            used.block == new.block
                && used.capture == new.capture
                && used.user.is_waited_for_with(&new.user)
        };
        if self.uses.any(is_known) { Ok(()) } else { self.uses.add(new) }
    }

    /// Makes the pool's stream `own` come after all other streams that use the block.
    pub(crate) fn join(&self, block: Address, own: &CudaStream) -> Result<(), CudaError> {
        self.join_where(own, |used| used.block == block)
    }

    /// Makes the pool's stream `own` come after all other streams that use any block.
    pub(crate) fn join_all(&self, own: &CudaStream) -> Result<(), CudaError> {
        let capture = capture_of(own)?;
        let mut from = 0;
        while let Some(UseCopy { number, block_use: used, .. }) = self.uses.next(from, |_| true) {
            let is_like_it = |before: &BlockUse| {
                before.capture == used.capture && before.user.is_waited_for_with(&used.user)
            };
            if !self.uses.any_before(number, is_like_it) {
                unless_gone(self.join_one(&used, own, capture))?;
            }
            from = number + 1;
        }
        Ok(())
    }

    /// As [`join`](Self::join), when nobody can enqueue anything with the block any more: the notes of the block are
    /// removed.
    pub(crate) fn settle(&self, block: Address, own: &CudaStream) -> Result<(), CudaError> {
        self.join(block, own)?;
        self.forget(block);
        Ok(())
    }

    /// Whether all users of a block use it in one context.
    pub(crate) fn are_within(&self, block: Address, context: &CudaContext) -> bool {
        !self.uses.any(|used| used.block == block && !used.user.is_within(context))
    }

    /// Removes the notes of a block.
    pub(crate) fn forget(&self, block: Address) {
        while let Some(first) = self.uses.next(0, |used| used.block == block) {
            self.uses.remove(first.number);
        }
    }

    fn join_where(
        &self,
        own: &CudaStream,
        wanted: impl Fn(&BlockUse) -> bool,
    ) -> Result<(), CudaError> {
        if !self.uses.any(&wanted) {
            return Ok(());
        }
        let capture = capture_of(own)?;
        let mut from = 0;
        while let Some(UseCopy { number, block_use: used, is_ended }) =
            self.uses.next(from, &wanted)
        {
            unless_gone(self.join_one(&used, own, capture))?;
            if capture.is_none() && is_ended {
                self.uses.remove(number);
            }
            from = number + 1;
        }
        // A stream of another context may have been waited for, or dropped.
        bind(own.context())
    }

    fn join_one(
        &self,
        used: &BlockUse,
        own: &CudaStream,
        capture: Capture,
    ) -> Result<(), CudaError> {
        let refused = Err(CudaError::Capturing { operation: "wait for another stream" });
        if capture.is_some() && capture != used.capture {
            return refused;
        }
        match &used.user {
            BlockUser::Stream(stream) if capture_of(stream)? != capture => refused,
            BlockUser::Stream(stream) if stream.context().cu_ctx() == own.context().cu_ctx() => {
                let event = self.event(own.context())?;
                event.record(stream)?;
                event.hold_back(own)
            }
            BlockUser::Stream(stream) => wait_across_contexts(stream, own),
            _ if capture.is_some() => refused,
            BlockUser::UnknownStream(context) => calls::synchronize_context(context),
            BlockUser::UnknownDevice => calls::synchronize_other_devices(own.context().cu_device()),
        }
    }

    fn event(&self, context: &Arc<CudaContext>) -> Result<&Event, CudaError> {
        if let Some(event) = self.event.get() {
            return Ok(event);
        }
        let event = Event::new(context)?;
        Ok(self.event.get_or_init(|| event))
    }
}

/// Waits, on the host, for a pool's stream, before its memory is used on the per-thread default stream. Whoever has
/// the pointer may send it to another thread, whose default stream is another one; work that any thread enqueues
/// after the wait is behind the pool's stream.
fn wait_for_every_thread(own: &CudaStream, capture: Capture) -> Result<Capture, CudaError> {
    if capture.is_some() {
        return Err(CudaError::Capturing { operation: "wait for its stream" });
    }
    calls::synchronize(own).map(|()| capture)
}

/// Makes the stream `own` wait for a stream of another context. Only an event of a stream's own context can be
/// recorded on that stream; any stream can wait for the event.
fn wait_across_contexts(stream: &CudaStream, own: &CudaStream) -> Result<(), CudaError> {
    let event = Event::new(stream.context())?;
    event.record(stream)?;
    event.hold_back(own)
}
