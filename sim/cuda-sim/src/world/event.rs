//! Events: moments of a stream or of a capture that other work can wait for.

use super::World;
use super::state::capture::Mode;
use super::state::event::{Event, Mark};
use super::state::handle::Kind;
use super::state::schedule::Goal;
use super::state::stream::Body;
use super::state::work::{Unit, Work};
use crate::code::{Code, Outcome};

/// The flags of `cuEventCreate` and `cuStreamWaitEvent` that affect the simulator.
const DISABLE_TIMING: u32 = 2;

const EXTERNAL: u32 = 1;

impl World {
    pub(crate) fn create_event(&mut self, thread: u64, flags: u32) -> Outcome<u64> {
        let device = self.current(thread)?;
        let timed = flags & DISABLE_TIMING == 0;
        let mark = Mark::Never;
        self.events.push(Event { device, lives: true, timed, mark, record: 0, time: None });
        Ok(self.handles.make(Kind::Event, self.events.len() - 1))
    }

    fn event(&mut self, handle: u64) -> Outcome<usize> {
        let event = self.find(Kind::Event, handle, "use of an event")?;
        let sticky = self.devices[self.events[event].device].sticky;
        sticky.map_or(Ok(event), Err)
    }

    /// Destroys an event. Pending work that waits for the event is not affected.
    pub(crate) fn destroy_event(&mut self, handle: u64) -> Outcome<()> {
        let event = self.event(handle)?;
        self.events[event].lives = false;
        Ok(())
    }

    pub(crate) fn record_event(
        &mut self,
        thread: u64,
        event: u64,
        stream: u64,
        flags: u32,
    ) -> Outcome<()> {
        let stream = self.stream(thread, stream)?;
        let event = self.event(event)?;
        self.refuse_legacy_beside_captures(stream)?;
        if let Some((capture, tail)) = self.capturing(stream)? {
            if flags & EXTERNAL != 0 {
                return self.put(stream, Work::Record(event), "cuEventRecord");
            }
            self.events[event].mark = Mark::Captured(capture, tail);
            return Ok(());
        }
        self.record_here(event, stream);
        Ok(())
    }

    fn record_here(&mut self, event: usize, stream: usize) {
        self.events[event].record += 1;
        self.events[event].time = None;
        let unit = Unit::Mark(event, self.events[event].record);
        let moment = self.submit(stream, "cuEventRecord", &[], &[], Body::Unit(unit));
        self.events[event].mark = Mark::At(moment);
    }

    pub(crate) fn wait_event(
        &mut self,
        thread: u64,
        stream: u64,
        event: u64,
        flags: u32,
    ) -> Outcome<()> {
        let stream = self.stream(thread, stream)?;
        let event = self.event(event)?;
        self.refuse_legacy_beside_captures(stream)?;
        let mark = self.events[event].mark.clone();
        if let Some((capture, _)) = self.capturing(stream)? {
            return self.wait_in_capture(stream, capture, event, mark, flags & EXTERNAL != 0);
        }
        match mark {
            Mark::Never => Ok(()),
            Mark::At(moment) => {
                let body = Body::Unit(Unit::Nothing);
                self.submit(stream, "cuStreamWaitEvent", &[], &[moment], body);
                Ok(())
            }
            Mark::Captured(capture, _) if self.other_answers && self.has_ended(capture) => Ok(()),
            Mark::Captured(capture, tail) => self.join_capture(stream, capture, tail),
        }
    }

    fn wait_in_capture(
        &mut self,
        stream: usize,
        capture: usize,
        event: usize,
        mark: Mark,
        external: bool,
    ) -> Outcome<()> {
        match mark {
            Mark::Captured(other, tail) if other == capture => {
                self.extend_tail(stream, &tail);
                Ok(())
            }
            Mark::Captured(other, _) if self.is_active(other) => {
                self.invalidate(other);
                self.invalidate(capture);
                Err(Code::CAPTURE_MERGE)
            }
            Mark::At(_) | Mark::Never if external => {
                self.put(stream, Work::Wait(event), "cuStreamWaitEvent")
            }
            Mark::Never if !self.other_answers => Ok(()),
            _ => {
                self.invalidate(capture);
                Err(Code::CAPTURE_ISOLATION)
            }
        }
    }

    /// Returns the goal that a host query or a host wait for an event has to reach.
    pub(crate) fn wait_for_event(&mut self, thread: u64, handle: u64) -> Outcome<Goal> {
        let event = self.event(handle)?;
        if let Mark::Captured(capture, _) = self.events[event].mark {
            if self.has_ended(capture) {
                return Err(Code::INVALID_VALUE);
            }
            self.invalidate(capture);
            return Err(Code::CAPTURED_EVENT);
        }
        self.refuse_unsafe_call(thread)?;
        let mut goal = Goal::default();
        if let Mark::At(moment) = &self.events[event].mark {
            goal.add(moment.position, &moment.clock);
        }
        Ok(goal)
    }

    /// Returns the milliseconds between two events.
    pub(crate) fn elapsed(&mut self, start: u64, end: u64) -> Outcome<f32> {
        let (start, end) = (self.event(start)?, self.event(end)?);
        let mut times = [0; 2];
        for (time, event) in times.iter_mut().zip([start, end]) {
            let event = &self.events[event];
            if !event.timed || matches!(event.mark, Mark::Never) {
                return Err(Code::INVALID_HANDLE);
            }
            if matches!(event.mark, Mark::Captured(..)) {
                return Err(Code::CAPTURED_EVENT);
            }
            *time = event.time.ok_or(Code::NOT_READY)?;
        }
        let [start, end] = times.map(|time| i64::try_from(time).unwrap_or(i64::MAX));
        #[expect(clippy::cast_precision_loss, reason = "the driver's unit is a float")]
        Ok((end - start) as f32 / 1e6)
    }

    /// Sets the capture mode of a thread, and returns the previous one.
    pub(crate) fn exchange_mode(&mut self, thread: u64, mode: Mode) -> Mode {
        std::mem::replace(&mut self.threads.entry(thread).or_default().mode, mode)
    }
}
