//! Streams other than the pool's that use its memory, and how they are ordered, without a destructor.
//!
//! Giving a pointer out for another stream makes that stream wait for the pool's, notes the stream
//! with the block, and arms the block's slot. Later, when the block is handed out again, freed, or used
//! on the pool's stream, an event is recorded on the noted stream *then*, behind whatever was enqueued
//! there meanwhile, and the pool's stream waits for it. So it does not matter when the work was
//! enqueued, nor whether a guard or view was dropped or forgotten.
//!
//! A stream that the pool cannot keep alive is the exception: cudarc's guard records an event behind the use
//! ([`GuardEvents`]). Where the guard was forgotten, the host waits for the whole context instead.
//!
//! A note is kept until the block is handed out again or freed: until then work may still be enqueued with the
//! pointer that was given out. The note goes earlier where its stream was waited for *after* the pool had the only
//! reference to it and no other could be made ([`BlockUser::seems_alone`]), and where the use ended in an event that was
//! waited for.
//!
//! A call that fails here fails the use (the rule is in `pool_driver::gone`). Only of a stream whose context is gone, which
//! a second call confirms, is it known that nothing runs there.

use std::cell::{Cell, OnceCell};
use std::ptr::NonNull;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent, CudaStream};
use pool_driver::calls::{self, Address};
use pool_driver::capture::{Capture, capture_of};
use pool_driver::context::bind;
use pool_driver::default_stream::is_per_thread;
use pool_driver::error::CudaError;
use pool_driver::event::Event;
use pool_driver::gone::is_gone;

use crate::stream::block_user::{BlockUser, UnknownStream};
use crate::stream::block_uses::{BlockUse, BlockUses};
use crate::stream::guard_events::{Bytes, GuardEvents};
use crate::stream::stream_questions::StreamQuestions;

/// The streams that use blocks of one pool.
#[derive(Debug)]
pub(crate) struct OtherStreams {
    uses: BlockUses,
    /// The events that end uses on streams that are not known.
    guards: GuardEvents,
    /// An event of the pool's own context, made when it is first needed.
    event: OnceCell<Event>,
    /// Whether the pool orders other streams at all.
    on: Cell<bool>,
    /// What cudarc asked before it gets a pointer.
    questions: StreamQuestions,
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
            guards: GuardEvents::default(),
            event: OnceCell::new(),
            on: Cell::new(true),
            questions: StreamQuestions::default(),
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
        self.questions.note(block);
    }

    /// Ends cudarc's questions, because a pointer to a block is given out. Returns whether a pointer for the pool's own
    /// stream may be for another device; see [`StreamQuestions`].
    pub(crate) fn end_questions(&self, block: Address) -> bool {
        self.questions.end(block) && self.on.get()
    }

    /// Notes that some stream of another device uses a block.
    pub(crate) fn note_another_device(&self, bytes: Bytes) -> Result<(), CudaError> {
        self.note(BlockUse { bytes, user: BlockUser::UnknownDevice, capture: None })
    }

    /// Makes the borrower's stream, which is not the pool's stream `own`, come after all that `own` holds, and after
    /// all other streams that use the block; notes that the borrower uses the block from now on.
    pub(crate) fn lend(
        &self,
        bytes: Bytes,
        to: Borrower<'_>,
        own: &CudaStream,
    ) -> Result<(), CudaError> {
        if !self.on.get() {
            return Ok(());
        }
        let ordered = self.order(bytes, &to, own);
        // Where a call of the driver failed, the caller gets the error, and the borrower counts as a user all the same: a
        // wait too many is harmless.
        if let Ok(capture) | Err((capture, CudaError::Call { .. })) =
            ordered.map_err(|error| (None, error))
        {
            self.note(BlockUse { bytes, user: to.user, capture })?;
        }
        ordered?;
        keep_current(to.stream)
    }

    /// As [`lend`](Self::lend), for a pointer that goes together with a guard of cudarc's: the event for that guard, where
    /// the stream is not known. Cudarc records it behind the use when the guard is dropped.
    pub(crate) fn lend_with_guard(
        &self,
        (ordered, bytes): (Bytes, Bytes),
        mut to: Borrower<'_>,
        own: &CudaStream,
    ) -> Result<Option<NonNull<CudaEvent>>, CudaError> {
        if !self.on.get() {
            return Ok(None);
        }
        let capture = self.order(ordered, &to, own)?;
        let mut event = None;
        if let (BlockUser::UnknownStream(user), None) = (&mut to.user, capture) {
            let given = self.guards.give((ordered, bytes), to.stream.context())?;
            user.end = given.map(|(end, _)| end);
            event = given.map(|(_, event)| event);
        }
        self.note(BlockUse { bytes: ordered, user: to.user, capture })?;
        keep_current(to.stream)?;
        Ok(event)
    }

    /// Notes a use of a block on a stream that could not be ordered by an event, after the host has waited for the pool's
    /// stream and for all other streams that use the block.
    ///
    /// # Errors
    ///
    /// [`CudaError::Capturing`] where a stream is captured, which waiting would spoil; and why it cannot be waited for.
    pub(crate) fn lend_by_waiting(
        &self,
        bytes: Bytes,
        to: &CudaStream,
        user: BlockUser,
        own: &CudaStream,
    ) -> Result<(), CudaError> {
        self.wait_for_users(bytes, own)?;
        self.note(BlockUse { bytes, user, capture: None })?;
        keep_current(to)
    }

    /// Waits, on the host, for the pool's stream `own` and for all other streams that use the block.
    ///
    /// # Errors
    ///
    /// As [`lend_by_waiting`](Self::lend_by_waiting).
    pub(crate) fn wait_for_users(&self, bytes: Bytes, own: &CudaStream) -> Result<(), CudaError> {
        let mut from = 0;
        while let Some((number, used)) = self.uses.next(from, |used| used.bytes.overlap(&bytes)) {
            match &used.user {
                BlockUser::Stream(stream) => wait_outside_capture(stream)?,
                _ => drop(self.join_one(&used, own, None)?),
            }
            from = number + 1;
        }
        wait_outside_capture(own)
    }

    /// Destroys the events of guards that have ended, because a view has these bytes exclusively.
    pub(crate) fn end_guards(&self, bytes: &Bytes) {
        self.guards.end_overlapping(bytes, |end| {
            self.uses.any(
                |used| matches!(&used.user, BlockUser::UnknownStream(user) if user.end == Some(end)),
            )
        });
    }

    fn order(
        &self,
        bytes: Bytes,
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
        self.join_where(own, |used| used.bytes.overlap(&bytes) && !is_in_order(used))?;
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
            used.bytes.contain(&new.bytes)
                && used.capture == new.capture
                && used.user.is_waited_for_with(&new.user)
        };
        if self.uses.any(is_known) { Ok(()) } else { self.uses.add(new) }
    }

    /// Makes the pool's stream `own` come after all other streams that use the block.
    pub(crate) fn join(&self, bytes: Bytes, own: &CudaStream) -> Result<(), CudaError> {
        self.join_where(own, |used| used.bytes.overlap(&bytes))
    }

    /// Makes the pool's stream `own` come after all other streams that use any block.
    pub(crate) fn join_all(&self, own: &CudaStream) -> Result<(), CudaError> {
        let capture = capture_of(own)?;
        let mut from = 0;
        while let Some((number, used)) = self.uses.next(from, |_| true) {
            let is_like_it = |before: &BlockUse| {
                before.capture == used.capture && before.user.is_waited_for_with(&used.user)
            };
            if !self.uses.any_before(number, is_like_it) {
                self.join_one(&used, own, capture)?;
            }
            from = number + 1;
        }
        Ok(())
    }

    /// As [`join`](Self::join), when nobody can enqueue anything with the block any more: the notes of the block are
    /// removed.
    pub(crate) fn settle(&self, block: Address, own: &CudaStream) -> Result<(), CudaError> {
        self.settle_where(own, |bytes| bytes.block == block)
    }

    /// As [`settle`](Self::settle), for a part of a stack's chunk. No view has the part any more, hence no array that a
    /// note overlaps it for.
    pub(crate) fn settle_bytes(
        &self,
        start: Address,
        length: usize,
        own: &CudaStream,
    ) -> Result<(), CudaError> {
        let end = start.saturating_add(length as Address);
        self.settle_where(own, |bytes| bytes.start < end && start < bytes.end())
    }

    fn settle_where(
        &self,
        own: &CudaStream,
        wanted: impl Fn(&Bytes) -> bool,
    ) -> Result<(), CudaError> {
        self.join_where(own, |used| wanted(&used.bytes))?;
        while let Some(number) = self.uses.find(0, |used| wanted(&used.bytes)) {
            self.uses.remove(number);
        }
        self.guards.end(wanted);
        Ok(())
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
        while let Some(number) = self.uses.find(from, &wanted) {
            let is_ended = self.uses.withdraw_if_ended(number);
            let Some(used) = self.uses.copy_of(number) else { break };
            let joined = self.join_one(&used, own, capture)?;
            if capture.is_none() && (is_ended || joined == Joined::End) {
                self.uses.remove(number);
            }
            from = number + 1;
        }
        // A stream of another context may have been waited for, or dropped.
        bind(own.context())
    }

    /// Makes the pool's stream `own` come after one user. An error is excused only where the user's context is gone,
    /// which a second call confirms: then none of its work runs.
    fn join_one(
        &self,
        used: &BlockUse,
        own: &CudaStream,
        capture: Capture,
    ) -> Result<Joined, CudaError> {
        let joined = self.try_join_one(used, own, capture);
        let context = match &used.user {
            BlockUser::Stream(stream) => stream.context(),
            BlockUser::UnknownStream(user) => &user.context,
            BlockUser::UnknownDevice => return joined,
        };
        match joined {
            Err(error) if is_gone(context, &error) => Ok(Joined::UntilNow),
            _ => joined,
        }
    }

    fn try_join_one(
        &self,
        used: &BlockUse,
        own: &CudaStream,
        capture: Capture,
    ) -> Result<Joined, CudaError> {
        let refused = Err(CudaError::Capturing { operation: "wait for another stream" });
        if capture.is_some() && capture != used.capture {
            return refused;
        }
        match &used.user {
            BlockUser::Stream(stream) if capture_of(stream)? != capture => return refused,
            BlockUser::Stream(stream) if stream.context().cu_ctx() == own.context().cu_ctx() => {
                let event = self.event(own.context())?;
                event.record(stream)?;
                event.hold_back(own)?;
            }
            BlockUser::Stream(stream) => wait_across_contexts(stream, own)?,
            _ if capture.is_some() => return refused,
            BlockUser::UnknownStream(user) => return join_unknown(user, own),
            BlockUser::UnknownDevice => {
                calls::synchronize_other_devices(own.context().cu_device())?;
            }
        }
        Ok(Joined::UntilNow)
    }

    fn event(&self, context: &Arc<CudaContext>) -> Result<&Event, CudaError> {
        if let Some(event) = self.event.get() {
            return Ok(event);
        }
        let event = Event::new(context)?;
        Ok(self.event.get_or_init(|| event))
    }
}

/// How far a user was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Joined {
    /// For the work that is enqueued until now.
    UntilNow,
    /// For the end of the use.
    End,
}

/// Makes the stream `own` come after a use on a stream that is not known: behind the event that ends the use. Where there
/// is no such event, or its guard was forgotten, the host waits for the context.
fn join_unknown(user: &UnknownStream, own: &CudaStream) -> Result<Joined, CudaError> {
    if let Some(end) = user.end {
        // SAFETY: the event lives until the notes of its block are forgotten, and this note is there.
        if unsafe { end.is_recorded() }? {
            // SAFETY: as above.
            unsafe { end.hold_back(own) }?;
            return Ok(Joined::End);
        }
    }
    calls::synchronize_context(&user.context, Some(user.handle))?;
    Ok(Joined::UntilNow)
}

/// Waits, on the host, for a stream that is not captured.
fn wait_outside_capture(stream: &CudaStream) -> Result<(), CudaError> {
    match capture_of(stream)? {
        Some(_) => Err(CudaError::Capturing { operation: "wait for another stream" }),
        None => calls::synchronize(stream),
    }
}

/// Makes the context of a stream the current one, once the stream was ordered: cudarc made it so, asked for the pointer,
/// and goes on with the stream's bare handle.
fn keep_current(stream: &CudaStream) -> Result<(), CudaError> {
    bind(stream.context())
}

/// Waits, on the host, for a pool's stream, before its memory is used on the per-thread default stream. The pointer may
/// go to another thread, whose default stream is another one. Work that any thread enqueues after the wait is behind the
/// pool's stream.
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
