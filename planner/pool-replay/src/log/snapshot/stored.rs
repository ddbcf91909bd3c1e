//! Reads a snapshot whose entries are stored, because several references may exist to an entry, or
//! because the traces of several devices are merged by time.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{BufRead, Seek};

use super::super::error::LogError;
use super::super::event::{Event, Place};
use super::super::frames::Frames;
use super::super::pickle::{Pickle, Reader, Value};
use super::before::{self, Before};
use super::contents::{self, wrong};
use super::entry::event;
use super::segments;

/// Reads a snapshot.
pub(super) fn read(
    reader: &mut Reader<'_, impl BufRead + Seek>,
    frames: &mut Frames,
    sink: &mut dyn FnMut(Event),
) -> Result<(), LogError> {
    let pickle = reader.read(frames)?;
    let traces = Traces { pickle: &pickle, traces: contents::traces(&pickle)? };
    let mut devices = BTreeMap::new();
    let order = traces.follow(frames, &mut devices)?;
    segments::add(&pickle, frames, &mut devices)?;
    before::pass_on(&devices, sink);
    traces.pass_on(order, frames, &devices, sink);
    Ok(())
}

/// The order in which the events of several devices are passed on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Order {
    /// The events are sorted by time. All events have times, and the times of each device never
    /// decrease.
    Times,
    /// All events of one device come before the events of the next device.
    Devices,
}

/// The traces of the devices. The traces stay in the pickle and are converted to events one by one,
/// because there may be millions of entries.
struct Traces<'a> {
    pickle: &'a Pickle,
    traces: &'a [Value],
}

impl<'a> Traces<'a> {
    /// Returns the events of a device. If an entry is invalid, the iterator yields an error.
    fn events(
        &self,
        device: u32,
        trace: &'a Value,
        frames: &Frames,
    ) -> Result<impl Iterator<Item = Result<(u64, Event), LogError>>, LogError> {
        let trace = self.pickle.trace(trace);
        let trace = trace
            .ok_or_else(|| wrong(format!("device_traces[{device}]"), "the value is not a list"))?;
        Ok((0_u64..).zip(trace).filter_map(move |(index, entry)| {
            let Some(entry) = entry else {
                let place = Place::Trace(device, index).to_string();
                return Some(Err(wrong(place, "the action is missing")));
            };
            let event = event(entry, device, index, frames).transpose()?;
            Some(event.map(|event| (index, event)))
        }))
    }

    /// Follows all events, and determines their order.
    fn follow(
        &self,
        frames: &Frames,
        devices: &mut BTreeMap<u32, Before>,
    ) -> Result<Order, LogError> {
        let mut are_in_order = true;
        for (device, trace) in (0_u32..).zip(self.traces) {
            let mut last = None;
            for event in self.events(device, trace, frames)? {
                let (index, event) = event?;
                are_in_order &= event.time.is_some() && last <= event.time;
                last = event.time;
                devices.entry(device).or_default().note(index, &event);
            }
        }
        Ok(if are_in_order { Order::Times } else { Order::Devices })
    }

    /// Passes on all events. Errors have already been reported.
    fn pass_on(
        &self,
        order: Order,
        frames: &Frames,
        devices: &BTreeMap<u32, Before>,
        sink: &mut dyn FnMut(Event),
    ) {
        let events = (0_u32..).zip(self.traces).filter_map(|(device, trace)| {
            let events = self.events(device, trace, frames).ok()?.filter_map(Result::ok);
            let before = devices.get(&device);
            Some(events.map(move |(index, event)| {
                let pool = before.map(|before| before.pool_of(event.address, index));
                Event { pool: pool.unwrap_or_default(), ..event }
            }))
        });
        if order == Order::Devices || self.traces.len() == 1 {
            return events.flatten().for_each(sink);
        }
        let mut all: Vec<_> = events.collect();
        // The heap contains the next event of each device. If several events have the same time,
        // the event with the lowest device number comes first.
        let next = |at: usize, event: Event| (Reverse((event.time, at)), event);
        let mut heap: BTreeMap<_, Event> = BTreeMap::new();
        for (at, events) in all.iter_mut().enumerate() {
            heap.extend(events.next().map(|event| next(at, event)));
        }
        while let Some((Reverse((_, at)), event)) = heap.pop_last() {
            sink(event);
            heap.extend(all[at].next().map(|event| next(at, event)));
        }
    }
}
