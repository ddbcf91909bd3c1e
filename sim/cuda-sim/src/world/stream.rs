//! Streams: creating them, and ordering and submitting their operations.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use super::World;
use super::state::clock::{Clock, Stamp};
use super::state::event::Moment;
use super::state::handle::Kind;
use super::state::position::Position;
use super::state::schedule::Goal;
use super::state::shadow::{Actor, Noted};
use super::state::stream::{Body, Operation, Order, Stream};
use super::state::work::Access;
use crate::code::{Code, Outcome};
use crate::report::Mistake;

/// The handles of the default streams.
const LEGACY: u64 = 1;

const PER_THREAD: u64 = 2;

impl World {
    pub(crate) fn new_stream(&mut self, device: usize, order: Order, priority: i32) -> usize {
        self.streams.push(Stream {
            device,
            order,
            priority,
            lives: true,
            queue: VecDeque::new(),
            submitted: 0,
            completed: 0,
            busy: false,
            clock: Clock::default(),
            capture: None,
        });
        self.streams.len() - 1
    }

    pub(crate) fn create_stream(
        &mut self,
        thread: u64,
        order: Order,
        priority: i32,
    ) -> Outcome<u64> {
        let device = self.current(thread)?;
        let stream = self.new_stream(device, order, priority.clamp(-5, 0));
        Ok(self.handles.make(Kind::Stream, stream))
    }

    /// Returns the stream that a handle refers to. Its context must not have a sticky error.
    pub(crate) fn stream(&mut self, thread: u64, handle: u64) -> Outcome<usize> {
        let device = self.current(thread)?;
        match handle {
            0 | LEGACY => self.devices[device].legacy.ok_or(Code::INVALID_CONTEXT),
            PER_THREAD => Ok(self.stream_of_thread(device, thread)),
            handle => {
                let stream = self.find(Kind::Stream, handle, "use of a stream")?;
                let sticky = self.devices[self.streams[stream].device].sticky;
                sticky.map_or(Ok(stream), Err)
            }
        }
    }

    fn stream_of_thread(&mut self, device: usize, thread: u64) -> usize {
        if let Some(stream) = self.devices[device].per_thread.get(&thread) {
            return *stream;
        }
        let stream = self.new_stream(device, Order::PerThread, 0);
        self.devices[device].per_thread.insert(thread, stream);
        stream
    }

    /// Destroys a stream. The handle becomes invalid immediately, but the stream's work continues.
    pub(crate) fn destroy_stream(&mut self, thread: u64, handle: u64) -> Outcome<()> {
        if handle <= PER_THREAD {
            return Err(Code::INVALID_HANDLE);
        }
        let stream = self.stream(thread, handle)?;
        if let Some(membership) = self.streams[stream].capture.take() {
            self.abandon_capture(membership.capture);
        }
        self.streams[stream].lives = false;
        Ok(())
    }

    /// Returns the streams that an operation of this stream implicitly waits for.
    fn implied(&self, stream: usize) -> Vec<usize> {
        let own = &self.streams[stream];
        if own.order == Order::Legacy {
            let blocks = |other: &usize| {
                let other = &self.streams[*other];
                other.device == own.device && other.is_blocking()
            };
            return (0..self.streams.len()).filter(blocks).collect();
        }
        let legacy = self.devices[own.device].legacy;
        legacy.into_iter().filter(|_| own.is_blocking()).collect()
    }

    /// Adds an operation to a stream's queue, and compares its accesses with all earlier accesses.
    pub(crate) fn submit(
        &mut self,
        stream: usize,
        what: &'static str,
        accesses: &[Access],
        after: &[Moment],
        body: Body,
    ) -> Moment {
        let mut clock = std::mem::take(&mut self.streams[stream].clock);
        clock.join(&self.host_clock);
        let mut positions: Vec<Position> = after.iter().map(|moment| moment.position).collect();
        for moment in after {
            clock.join(&moment.clock);
        }
        for other in self.implied(stream) {
            let before = &self.streams[other];
            positions.push(Position { stream: other, number: before.submitted });
            clock.join(&before.clock);
        }
        let before = clock.clone();
        let stamp = clock.tick(stream + 1);
        self.pending_kernels += body.kernels();
        let own = &mut self.streams[stream];
        own.submitted += 1;
        let number = own.submitted;
        own.queue.push_back(Operation { number, what, after: positions, clock: before, body });
        own.clock = clock.clone();
        let actor = Actor { stream, number, what, kernel: None, node: None };
        let clock = Arc::new(clock);
        self.note_accesses(accesses, &actor, (&clock, stamp));
        Moment { position: Position { stream, number }, clock: Arc::unwrap_or_clone(clock) }
    }

    pub(crate) fn note_accesses(
        &mut self,
        accesses: &[Access],
        actor: &Actor,
        at: (&Arc<Clock>, Stamp),
    ) {
        for access in accesses {
            let Access { piece, writes, node } = *access;
            let bytes = piece.start..piece.start + piece.len;
            let actor = Actor { node, ..actor.clone() };
            // Pending kernels may race with accesses whose records would be dropped.
            let prunes = self.pending_kernels == 0;
            self.note(piece.block, Noted { bytes, parts: None, writes, actor, prunes }, at);
        }
    }

    /// Records the accesses that a kernel made to a block.
    pub(crate) fn note_ranges(
        &mut self,
        block: usize,
        ranges: &Arc<[Range<usize>]>,
        writes: bool,
        actor: &Actor,
        at: (&Arc<Clock>, Stamp),
    ) {
        let (Some(first), Some(last)) = (ranges.first(), ranges.last()) else { return };
        let bytes = first.start..last.end;
        let parts = (ranges.len() > 1).then(|| Arc::clone(ranges));
        let prunes = self.pending_kernels == 0;
        self.note(block, Noted { bytes, parts, writes, actor: actor.clone(), prunes }, at);
    }

    fn note(&mut self, block: usize, noted: Noted, at: (&Arc<Clock>, Stamp)) {
        let (actor, bytes, writes) = (noted.actor.clone(), noted.bytes.clone(), noted.writes);
        let Some(other) = self.memory.blocks[block].shadow.access(noted, at) else { return };
        let does = |writes| if writes { "writes" } else { "reads" };
        let text = format!(
            "{actor} {} bytes {}..{} of block {block}; nothing orders it after {}, which {} \
             bytes {}..{}",
            does(writes),
            bytes.start,
            bytes.end,
            other.actor,
            does(other.writes),
            other.bytes.start,
            other.bytes.end,
        );
        self.reports.add(Mistake::Race, &text);
    }

    /// Returns the goal that is reached when all current work of a stream has finished.
    pub(crate) fn end_of(&self, stream: usize) -> Goal {
        let own = &self.streams[stream];
        let mut goal = Goal::default();
        goal.add(Position { stream, number: own.submitted }, &own.clock);
        for other in self.implied(stream).into_iter().filter(|_| own.order == Order::Legacy) {
            let before = &self.streams[other];
            goal.add(Position { stream: other, number: before.submitted }, &before.clock);
        }
        goal
    }

    /// Returns the goal that is reached when all current work of a device has finished.
    pub(crate) fn end_of_device(&self, device: usize) -> Goal {
        let mut goal = Goal::default();
        for (stream, own) in self.streams.iter().enumerate() {
            if own.device == device {
                goal.add(Position { stream, number: own.submitted }, &own.clock);
            }
        }
        goal
    }

    /// Returns the goal that is reached when all current work has finished.
    pub(crate) fn end_of_everything(&self) -> Goal {
        let mut goal = Goal::default();
        for (stream, own) in self.streams.iter().enumerate() {
            goal.add(Position { stream, number: own.submitted }, &own.clock);
        }
        goal
    }

    /// Returns the goal of a host query or a host wait for a stream. Fails if the stream is being
    /// captured, or if a strict capture forbids the call.
    pub(crate) fn wait_for_stream(&mut self, thread: u64, handle: u64) -> Outcome<Goal> {
        let stream = self.stream(thread, handle)?;
        self.refuse_while_capturing(stream)?;
        self.refuse_legacy_beside_captures(stream)?;
        self.refuse_unsafe_call(thread)?;
        Ok(self.end_of(stream))
    }

    pub(crate) fn device_of_stream(&mut self, thread: u64, handle: u64) -> Outcome<usize> {
        let stream = self.stream(thread, handle)?;
        Ok(self.streams[stream].device)
    }

    pub(crate) fn wait_for_context(&mut self, thread: u64) -> Outcome<Goal> {
        let device = self.current(thread)?;
        self.refuse_beside_any_capture(device)?;
        Ok(self.end_of_device(device))
    }

    pub(crate) fn stream_facts(&mut self, thread: u64, handle: u64) -> Outcome<(Order, i32, u64)> {
        let stream = self.stream(thread, handle)?;
        let own = &self.streams[stream];
        Ok((own.order, own.priority, self.handles.make(Kind::Context, own.device)))
    }
}
