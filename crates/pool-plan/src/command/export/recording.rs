//! A consistent log, kept as a whole: its events, and the buffers that they make.

use std::collections::BTreeMap;

use crate::log::{Event, Frames};
use crate::replay::{Books, Change, Fault, Live};

/// A buffer from its allocation to its free.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer {
    pub(super) live: Live,
    /// Which event of all allocated the buffer, and which one freed it; after the last one if none did.
    pub(super) lower: usize,
    pub(super) upper: usize,
    pub(super) is_freed: bool,
}

/// A log.
#[derive(Debug)]
pub(super) struct Recording {
    pub(super) events: Vec<Event>,
    pub(super) frames: Frames,
    /// The buffers of each device, in order of allocation.
    pub(super) devices: BTreeMap<u32, Vec<Buffer>>,
}

impl Recording {
    /// Follows the events; the error is the first that cannot be.
    pub(super) fn new(events: Vec<Event>, frames: Frames) -> Result<Self, Fault> {
        let mut books: BTreeMap<u32, Books> = BTreeMap::new();
        let mut devices: BTreeMap<u32, Vec<Buffer>> = BTreeMap::new();
        for (index, &event) in events.iter().enumerate() {
            let buffers = devices.entry(event.device).or_default();
            let mut fault = None;
            books.entry(event.device).or_default().enter(
                event,
                &mut |change| note(buffers, change, index, events.len()),
                &mut |kind| fault = fault.or(Some(Fault { kind, event })),
            );
            if let Some(fault) = fault {
                return Err(fault);
            }
        }
        Ok(Self { events, frames, devices })
    }

    /// A time for each event, in microseconds from the first, if all have one and none goes back; else their numbers.
    pub(super) fn times(&self) -> Vec<u64> {
        let recorded = || self.events.iter().filter_map(|event| event.time);
        let first = recorded().next().unwrap_or(0);
        let mut times = Vec::with_capacity(self.events.len());
        let mut last = Some(0);
        for event in &self.events {
            // What was there before the recording has no time, and begins with it.
            let time = match event.time {
                Some(time) => time.checked_sub(first).and_then(|time| u64::try_from(time).ok()),
                None if event.place == crate::log::Place::Before => Some(0),
                None => None,
            };
            last = last.and_then(|last| time.filter(|&time| time >= last));
            times.push(last.unwrap_or(0));
        }
        if last.is_some() && times.last() > Some(&0) {
            return times;
        }
        (0..).take(self.events.len()).collect()
    }
}

fn note(buffers: &mut Vec<Buffer>, change: Change, index: usize, end: usize) {
    match change {
        Change::Allocated(live) => {
            buffers.push(Buffer { live, lower: index, upper: end, is_freed: false });
        }
        Change::Freed(live) => {
            let at = usize::try_from(live.number).unwrap_or(usize::MAX);
            if let Some(buffer) = buffers.get_mut(at) {
                buffer.upper = index;
                buffer.is_freed = true;
            }
        }
    }
}
