//! Streams other than the pool's that use its memory, ordered without a destructor.
//!
//! A pointer returned for another stream makes that stream wait for the pool's, notes the stream
//! with the block, and arms the block's slot. Later, the block is reused, freed, or used on the
//! pool's stream. An event is recorded on the noted stream *then*, after all work enqueued there
//! meanwhile, and the pool's stream waits for it. So the time of the enqueue does not matter, nor a
//! dropped or forgotten guard or view.
//!
//! A stream that the pool cannot keep alive is the exception: cudarc's guard records an event after
//! the use ([`GuardEvents`]). If the guard was forgotten, the host waits for the whole context
//! instead.
//!
//! A note is kept until the block is reused or freed: until then work may still be enqueued with
//! the returned pointer. The note is removed earlier in two cases. Its stream was waited for
//! *after* the pool had the only reference to it and no other could be made
//! ([`BlockUser::seems_alone`]); or the use ended in an event that was waited for.
//!
//! A failing call here fails the use (the rule is in `pool_driver::gone`). Only a stream whose
//! context is destroyed, which a second call confirms, is known to run no work.

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
    /// The events that end uses on unknown streams.
    guards: GuardEvents,
    /// An event of the pool's own context, created at its first use.
    event: OnceCell<Event>,
    /// `true` if the pool orders other streams.
    on: Cell<bool>,
    /// cudarc's queries before it gets a pointer.
    questions: StreamQuestions,
}

/// A stream that borrows memory.
pub(crate) struct Borrower<'a> {
    pub(crate) stream: &'a CudaStream,
    /// The same stream, for the note.
    pub(crate) user: BlockUser,
    /// `true` if the stream may become a part of the capture of the pool's stream.
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
    /// Disables or enables the ordering of other streams.
    pub(crate) fn set_on(&self, on: bool) {
        self.on.set(on);
    }

    /// Returns `true` if no other stream uses any block: the usual case, which costs only this
    /// check.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.uses.is_empty()
    }

    /// Notes that cudarc queried the stream of a block.
    pub(crate) fn note_question(&self, block: Address) {
        self.questions.note(block);
    }

    /// Ends cudarc's queries, because a pointer to a block is returned. Returns `true` if a pointer
    /// for the pool's own stream may be for another device; see [`StreamQuestions`].
    pub(crate) fn end_questions(&self, block: Address) -> bool {
        self.questions.end(block) && self.on.get()
    }

    /// Notes that an unknown stream of another device uses a block.
    pub(crate) fn note_another_device(&self, bytes: Bytes) -> Result<(), CudaError> {
        self.note(BlockUse { bytes, user: BlockUser::UnknownDevice, capture: None })
    }

    /// Orders the borrower's stream, which is not the pool's stream `own`, after all work of `own`
    /// and after all other streams that use the block. Notes that the borrower uses the block from
    /// now on.
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
        // If a call of the driver failed, the caller gets the error, and the borrower counts as a
        // user all the same: an extra wait is harmless.
        if let Ok(capture) | Err((capture, CudaError::Call { .. })) =
            ordered.map_err(|error| (None, error))
        {
            self.note(BlockUse { bytes, user: to.user, capture })?;
        }
        ordered?;
        keep_current(to.stream)
    }

    /// Lends as [`lend`](Self::lend) does, for a pointer with a guard of cudarc's. Returns the
    /// event for that guard if the stream is unknown. cudarc records it after the use, when the
    /// guard is dropped.
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

    /// Notes a use of a block on a stream that no event could order, after the host has waited for
    /// the pool's stream and for all other streams that use the block.
    ///
    /// # Errors
    ///
    /// [`CudaError::Capturing`] if a stream is captured, which a wait would invalidate; and the
    /// error of a failed wait.
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

    /// Blocks the host until the pool's stream `own` and all other streams that use the block are
    /// done.
    ///
    /// # Errors
    ///
    /// Same as [`lend_by_waiting`](Self::lend_by_waiting).
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

    /// Destroys the events of ended guards, because a view has these bytes exclusively.
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
        // A stream's work before a capture is not part of the graph, even if the same stream
        // continues.
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

    /// Orders the pool's stream `own` after all other streams that use the block.
    pub(crate) fn join(&self, bytes: Bytes, own: &CudaStream) -> Result<(), CudaError> {
        self.join_where(own, |used| used.bytes.overlap(&bytes))
    }

    /// Orders the pool's stream `own` after all other streams that use any block.
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

    /// Joins as [`join`](Self::join) does, once no code can enqueue work on the block any more: the
    /// notes of the block are removed.
    pub(crate) fn settle(&self, block: Address, own: &CudaStream) -> Result<(), CudaError> {
        self.settle_where(own, |bytes| bytes.block == block)
    }

    /// Settles as [`settle`](Self::settle) does, for a part of a stack's chunk. No view has the
    /// part any more, so no array can need a note that overlaps it.
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

    /// Orders the pool's stream `own` after one user. An error is ignored only if the user's
    /// context is destroyed, which a second call confirms: then none of its work runs.
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

/// The extent of a wait for a user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Joined {
    /// The work enqueued until now.
    UntilNow,
    /// The whole use, to its end.
    End,
}

/// Orders the stream `own` after a use on an unknown stream, by the event that ends the use. If
/// there is no such event, or its guard was forgotten, the host waits for the context.
fn join_unknown(user: &UnknownStream, own: &CudaStream) -> Result<Joined, CudaError> {
    if let Some(end) = user.end {
        // SAFETY: the event lives until the notes of its block are removed, and this note exists.
        if unsafe { end.is_recorded() }? {
            // SAFETY: as above.
            unsafe { end.hold_back(own) }?;
            return Ok(Joined::End);
        }
    }
    calls::synchronize_context(&user.context, Some(user.handle))?;
    Ok(Joined::UntilNow)
}

/// Blocks the host until a stream is done that must not be captured.
fn wait_outside_capture(stream: &CudaStream) -> Result<(), CudaError> {
    match capture_of(stream)? {
        Some(_) => Err(CudaError::Capturing { operation: "wait for another stream" }),
        None => calls::synchronize(stream),
    }
}

/// Makes the context of a stream current, once the stream was ordered. cudarc had made it current,
/// requests the pointer, and continues with the stream's bare handle.
fn keep_current(stream: &CudaStream) -> Result<(), CudaError> {
    bind(stream.context())
}

/// Blocks the host until a pool's stream is done, before its memory is used on the per-thread
/// default stream. The pointer may go to another thread, whose default stream differs. Work that
/// any thread enqueues after the wait comes after the pool's stream.
fn wait_for_every_thread(own: &CudaStream, capture: Capture) -> Result<Capture, CudaError> {
    if capture.is_some() {
        return Err(CudaError::Capturing { operation: "wait for its stream" });
    }
    calls::synchronize(own).map(|()| capture)
}

/// Orders the stream `own` after a stream of another context. An event can be recorded only on a
/// stream of its own context; any stream can wait for it.
fn wait_across_contexts(stream: &CudaStream, own: &CudaStream) -> Result<(), CudaError> {
    let event = Event::new(stream.context())?;
    event.record(stream)?;
    event.hold_back(own)
}
