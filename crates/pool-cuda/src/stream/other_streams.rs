//! Orders the other streams that use a pool's memory without relying on destructors.
//!
//! When a pool returns a pointer for another stream, it makes that stream wait for the pool's
//! stream. The pool also records that the stream uses the block, and arms the block's slot. When an
//! armed slot is next acquired, the pool first completes the slot's pending work. Before the block
//! is reused, freed, or used on the pool's stream, the pool records an event on the other stream.
//! The pool's own stream then waits for this event. The event covers all work enqueued on the other
//! stream before the event was recorded. The order therefore does not depend on whether a guard or
//! a view was dropped or forgotten.
//!
//! If the pool cannot keep a stream alive, cudarc's guard records an event after the use (see
//! [`GuardEvents`]). If the guard was forgotten, the host waits for all work in the context.
//!
//! Until the block is reused or freed, the pool remembers each use, because other code might still
//! enqueue work with the returned pointer. The pool removes a recorded use sooner in two cases:
//!
//! - The pool holds the only reference to the stream ([`BlockUser::seems_alone`]), and it counted
//!   the references *before* it waited for the stream.
//! - The pool has waited for an event that was recorded at the end of the use.
//!
//! If a driver call in this module fails, so does the operation that uses the memory (see
//! `pool_driver::gone`). An error is ignored only if the stream's context has been destroyed. A
//! destroyed context can no longer run any work. A second driver call confirms that the context has
//! been destroyed.

use std::cell::{Cell, OnceCell};
use std::ptr::NonNull;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaEvent, CudaStream};
use pool_driver::calls::{self, Address};
use pool_driver::capture::{CaptureId, capture_of};
use pool_driver::context::bind;
use pool_driver::default_stream::is_per_thread;
use pool_driver::error::CudaError;
use pool_driver::event::Event;
use pool_driver::gone::is_gone;

use crate::stream::block_user::{BlockUser, UnknownStream};
use crate::stream::block_uses::{BlockUse, BlockUses};
use crate::stream::guard_events::{Bytes, GuardEvents};
use crate::stream::stream_questions::StreamQuestions;

/// The other streams that use one pool's blocks.
#[derive(Debug)]
pub(crate) struct OtherStreams {
    uses: BlockUses,
    /// The events recorded after work on unknown streams.
    guards: GuardEvents,
    /// An event in the pool's own context, created on first use.
    event: OnceCell<Event>,
    /// `true` if the pool orders the other streams that use its memory.
    on: Cell<bool>,
    /// The queries that cudarc makes before it requests a pointer.
    questions: StreamQuestions,
}

/// A stream that is about to use the pool's memory.
pub(crate) struct Borrower<'a> {
    pub(crate) stream: &'a CudaStream,
    /// The stream's description, which the pool records together with the use.
    pub(crate) user: BlockUser,
    /// `true` if the stream may join the capture to which the pool's stream belongs.
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
    /// Enables or disables the automatic ordering of other streams.
    pub(crate) fn set_on(&self, on: bool) {
        self.on.set(on);
    }

    /// Returns `true` if no other stream uses any block. In most pools, no other stream uses the
    /// blocks, so this check is the only cost of ordering.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.uses.is_empty()
    }

    /// Records that cudarc queried a block's stream.
    pub(crate) fn note_question(&self, block: Address) {
        self.questions.note(block);
    }

    /// Ends the sequence of cudarc's queries once the pool returns a pointer to a block. Returns
    /// `true` if another device may use a pointer requested for the pool's own stream (see
    /// [`StreamQuestions`]).
    pub(crate) fn end_questions(&self, block: Address) -> bool {
        self.questions.end(block) && self.on.get()
    }

    /// Records that an unknown stream on another device uses a block.
    pub(crate) fn note_another_device(&self, bytes: Bytes) -> Result<(), CudaError> {
        self.note(BlockUse { bytes, user: BlockUser::UnknownDevice, capture: None })
    }

    /// Makes the borrower's stream wait for the pool's stream (`own`) and for all other streams
    /// that use the block. This method also records that the borrower uses the block. The
    /// borrower's stream must not be the pool's own stream.
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
        // The pool records this use even if a driver call fails, because an unnecessary wait is
        // harmless. The caller receives the error.
        if let Ok(capture) | Err((capture, CudaError::Call { .. })) =
            ordered.map_err(|error| (None, error))
        {
            self.note(BlockUse { bytes, user: to.user, capture })?;
        }
        ordered?;
        keep_current(to.stream)
    }

    /// Orders the borrower's stream like [`lend`](Self::lend), but for a pointer that is returned
    /// together with a cudarc guard. If the stream is unknown to the pool, this method returns an
    /// event for the guard. cudarc records this event when the guard is dropped after the use.
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

    /// Records a stream's use of a block when the streams could not be ordered with an event. The
    /// host first waits for the pool's stream and for all other streams that use the block.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Capturing`] if one of the streams is being captured, because a wait
    /// would invalidate the capture. If waiting for a stream fails, this method returns the error
    /// from that wait.
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

    /// Blocks the host until the pool's stream (`own`) and all other streams that use the block
    /// have completed their work.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`lend_by_waiting`](Self::lend_by_waiting).
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

    /// Destroys the events of dropped guards for bytes covered by a new exclusive view.
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
    ) -> Result<CaptureId, CudaError> {
        let Borrower { stream, user, admitted } = to;
        let capture = capture_of(own)?;
        if !admitted && capture_of(stream)? != capture {
            return Err(CudaError::Capturing {
                operation: "order another stream with the pool's own stream",
            });
        }
        // Work that a stream performed before a capture is not part of the graph, even if the same
        // stream is now being captured.
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

    /// Makes `own`, the pool's stream, wait for all other streams that use the block.
    pub(crate) fn join(&self, bytes: Bytes, own: &CudaStream) -> Result<(), CudaError> {
        self.join_where(own, |used| used.bytes.overlap(&bytes))
    }

    /// Makes `own`, the pool's stream, wait for all other streams that use the pool's blocks.
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

    /// Makes `own`, the pool's stream, wait for all other streams that use the block, just like
    /// [`join`](Self::join). This method then removes the recorded uses of the block. After this
    /// call, no code may enqueue further work that uses the block.
    pub(crate) fn settle(&self, block: Address, own: &CudaStream) -> Result<(), CudaError> {
        self.settle_where(own, |bytes| bytes.block == block)
    }

    /// Waits like [`settle`](Self::settle), but only for uses of the given bytes in a stack's
    /// chunk. No view covers these bytes anymore, so all of their recorded uses can be removed.
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
        // This call makes the context of the pool's stream current again. The current context may
        // have changed because a stream in another context was waited for or dropped.
        bind(own.context())
    }

    /// Makes `own`, the pool's stream, wait for one user of a block. An error is ignored only if a
    /// second call confirms that the user's context has been destroyed. A destroyed context can no
    /// longer run any work.
    fn join_one(
        &self,
        used: &BlockUse,
        own: &CudaStream,
        capture: CaptureId,
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
        capture: CaptureId,
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

/// The part of a user's work for which a stream has waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Joined {
    /// The work that the user enqueued before the pool began to wait.
    UntilNow,
    /// All of the user's work that uses the block.
    End,
}

/// Makes `own` wait for the event that was recorded after the unknown stream's work. If there is no
/// event or the guard was forgotten, the host waits for all work in the context.
fn join_unknown(user: &UnknownStream, own: &CudaStream) -> Result<Joined, CudaError> {
    if let Some(end) = user.end {
        // SAFETY: events stay alive until the recorded uses of their block are removed. The use has
        // not been removed yet.
        if unsafe { end.is_recorded() }? {
            // SAFETY: events stay alive until the recorded uses of their block are removed. The use
            // has not been removed yet.
            unsafe { end.hold_back(own) }?;
            return Ok(Joined::End);
        }
    }
    calls::synchronize_context(&user.context, Some(user.handle))?;
    Ok(Joined::UntilNow)
}

/// Blocks the host until all work on a stream has completed. Returns an error if the stream is
/// being captured.
fn wait_outside_capture(stream: &CudaStream) -> Result<(), CudaError> {
    match capture_of(stream)? {
        Some(_) => Err(CudaError::Capturing { operation: "wait for another stream" }),
        None => calls::synchronize(stream),
    }
}

/// Makes a stream's context current again once other streams have been ordered relative to that
/// stream. After receiving a pointer, cudarc uses the stream's raw handle and assumes that the
/// stream's context is current.
fn keep_current(stream: &CudaStream) -> Result<(), CudaError> {
    bind(stream.context())
}

/// Blocks the host until all work on a pool's stream has completed. The pool calls this function
/// before work on the per-thread default stream uses the pool's memory. The pointer might later be
/// moved to another thread, on which the same handle refers to a different stream. After this
/// synchronization, any work that a thread enqueues on its default stream runs after the work on
/// the pool's stream.
fn wait_for_every_thread(own: &CudaStream, capture: CaptureId) -> Result<CaptureId, CudaError> {
    if capture.is_some() {
        return Err(CudaError::Capturing { operation: "wait for the pool's stream" });
    }
    calls::synchronize(own).map(|()| capture)
}

/// Makes `own` wait for a stream in another context. The event is created in the context of
/// `stream` because a stream can record only events that belong to its own context. A stream in any
/// other context can wait for this event.
fn wait_across_contexts(stream: &CudaStream, own: &CudaStream) -> Result<(), CudaError> {
    let event = Event::new(stream.context())?;
    event.record(stream)?;
    event.hold_back(own)
}
