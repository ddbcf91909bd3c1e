//! Selects a part of a log. Buffers that are live when the selected part begins come first, as if
//! they had been allocated before the recording.

use std::collections::BTreeMap;
use std::ops::Range;

use super::error::LogError;
use super::event::{Action, Event, Place};

/// The part of a log to read. The selection also states whether foreign lines are allowed in the
/// log.
///
/// ```
/// use pool_replay::Selection;
///
/// let part = Selection { events: 1000..2000, ..Selection::default() };
/// assert!(!part.is_whole());
/// assert!(Selection::default().is_whole());
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Selection {
    /// The range of events, numbered from 0. In a snapshot, events from before the trace are not
    /// counted.
    pub events: Range<u64>,
    /// The range of times, in microseconds of the log's clock. An event without a time is assigned
    /// the time of the previous event.
    pub times: Range<i64>,
    /// If `true`, foreign lines are skipped and counted. If `false`, a foreign line is an error.
    pub skip_other_lines: bool,
}

/// Selects the whole log, without foreign lines.
impl Default for Selection {
    fn default() -> Self {
        Self { events: 0..u64::MAX, times: i64::MIN..i64::MAX, skip_other_lines: false }
    }
}

impl Selection {
    /// Returns `true` if all events are selected.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let whole = Self::default();
        self.events == whole.events && self.times == whole.times
    }

    fn has_times(&self) -> bool {
        self.times != Self::default().times
    }
}

/// The order of the events of different devices.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum DeviceOrder {
    /// The events are sorted by time if all of them have times.
    Merged,
    Any,
}

/// Filters the events of a log, and passes on the events of the selected part.
pub(super) struct Part<'a> {
    selection: &'a Selection,
    sink: &'a mut dyn FnMut(Event),
    /// The number of recorded events that have been processed.
    events: u64,
    /// The most recent time of an event.
    time: Option<i64>,
    has_begun: bool,
    live: BTreeMap<(u32, u64), Event>,
    /// The number of bytes that each device's allocator holds.
    reserved: BTreeMap<u32, u64>,
}

impl<'a> Part<'a> {
    pub(super) fn new(selection: &'a Selection, sink: &'a mut dyn FnMut(Event)) -> Self {
        let (live, reserved) = (BTreeMap::new(), BTreeMap::new());
        Self { selection, sink, events: 0, time: None, has_begun: false, live, reserved }
    }

    /// Processes the next event of the log.
    pub(super) fn event(&mut self, event: Event) {
        if event.place == Place::Before {
            return self.note(event);
        }
        let number = self.events;
        self.events += 1;
        self.time = event.time.or(self.time);
        let is_in_time = !self.selection.has_times()
            || self.time.is_some_and(|time| self.selection.times.contains(&time));
        if self.selection.events.contains(&number) && is_in_time {
            self.begin();
            (self.sink)(event);
        } else if !self.has_begun {
            self.note(event);
        }
    }

    /// Ends the log.
    ///
    /// # Errors
    /// Fails if a part by time was requested, but no event has a time.
    pub(super) fn end(&self) -> Result<(), LogError> {
        let lacks_times = self.selection.has_times() && self.events > 0 && self.time.is_none();
        if lacks_times { Err(LogError::NoTimes) } else { Ok(()) }
    }

    /// Passes on the state from before the selected part, as events.
    fn begin(&mut self) {
        if std::mem::replace(&mut self.has_begun, true) {
            return;
        }
        for (&device, &bytes) in self.reserved.iter().filter(|&(_, &bytes)| bytes > 0) {
            let event = Event::new(Action::Reserve, Place::Before, 0, bytes);
            (self.sink)(Event { device, ..event });
        }
        for (_, event) in std::mem::take(&mut self.live) {
            (self.sink)(Event { place: Place::Before, time: None, ..event });
        }
    }

    /// Records an event from before the part.
    fn note(&mut self, event: Event) {
        let key = (event.device, event.address);
        let reserved = self.reserved.entry(event.device).or_default();
        match event.action {
            Action::Allocate => drop(self.live.insert(key, event)),
            Action::Free => drop(self.live.remove(&key)),
            Action::Reserve => *reserved = reserved.saturating_add(event.bytes),
            Action::Release => *reserved = reserved.saturating_sub(event.bytes),
            Action::RequestFree | Action::Fail | Action::ReleasePool => {}
        }
    }
}
