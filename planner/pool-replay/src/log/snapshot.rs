//! Reads PyTorch's memory snapshots as a log. A snapshot has the form `{segments: [{address,
//! total_size, stream, device, blocks}], device_traces: [[{action, addr, size, stream, frames,
//! time_us}]]}`, or is only the list of segments.
//!
//! A trace contains the last part of the history, and the segments describe the state at its end. A
//! buffer was live before the trace if the trace frees it without an allocation, or if it is live
//! at the end and the trace does not allocate it. Buffers that were live before the trace come
//! first. If all entries have times, the traces of several devices are merged by time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, Seek};

use super::error::LogError;
use super::event::{Action, Event, Place};
use super::frames::{Frames, Stack};
use super::pickle::{self, Dict, Entry, Field, Number, NumberError, Pickle, Value};

/// The maximum number of devices in a snapshot.
const MOST_DEVICES: u32 = 1 << 16;

/// Reads a snapshot.
pub(super) fn read(
    source: &mut (impl BufRead + Seek),
    frames: &mut Frames,
    sink: &mut dyn FnMut(Event),
) -> Result<(), LogError> {
    let pickle = pickle::read(source, frames)?;
    let traces = Traces::of(&pickle)?;
    let mut before = Before::default();
    let order = traces.follow(frames, &mut before)?;
    blocks(&pickle, frames, &mut before)?;
    before.pass_on(sink);
    traces.pass_on(order, frames, sink);
    Ok(())
}

fn wrong(place: impl Into<String>, message: impl Into<String>) -> LogError {
    LogError::Snapshot { place: place.into(), message: message.into() }
}

/// The traces of the devices. The traces stay in the pickle and are converted to events one by one,
/// because there may be millions of entries.
struct Traces<'a> {
    pickle: &'a Pickle,
    traces: &'a [Value],
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

impl<'a> Traces<'a> {
    fn of(pickle: &'a Pickle) -> Result<Self, LogError> {
        // If the pickle is only a list of segments, it contains no traces.
        if pickle.list(&pickle.root).is_some() {
            return Ok(Self { pickle, traces: &[] });
        }
        let root = pickle.dict(&pickle.root);
        let root = root
            .ok_or_else(|| wrong("the snapshot", "the root is neither a dictionary nor a list"))?;
        let Some(traces) = root.get(Field::DeviceTraces) else {
            if root.get(Field::Segments).is_some() {
                return Ok(Self { pickle, traces: &[] });
            }
            return Err(wrong(
                "the snapshot",
                "the dictionary has neither segments nor device_traces",
            ));
        };
        let traces =
            pickle.list(traces).ok_or_else(|| wrong("device_traces", "the value is not a list"))?;
        if traces.len() > MOST_DEVICES as usize {
            return Err(wrong(
                "device_traces",
                format!("the snapshot has more than {MOST_DEVICES} devices"),
            ));
        }
        Ok(Self { pickle, traces })
    }

    /// Returns the events of a device. If an entry is invalid, the iterator yields an error.
    fn events(
        &self,
        device: u32,
        trace: &'a Value,
        frames: &Frames,
    ) -> Result<impl Iterator<Item = Result<Event, LogError>>, LogError> {
        let trace = self.pickle.trace(trace);
        let trace = trace
            .ok_or_else(|| wrong(format!("device_traces[{device}]"), "the value is not a list"))?;
        Ok((0_u64..).zip(trace).filter_map(move |(index, entry)| {
            let place = || Place::Trace(device, index).to_string();
            let Some(entry) = entry else {
                return Some(Err(wrong(place(), "the action is missing")));
            };
            match event(entry, device, index, frames) {
                Ok(event) => event.map(Ok),
                Err((key, error)) => Some(Err(wrong(place(), format!("{key} {error}")))),
            }
        }))
    }

    /// Follows all events, and determines their order.
    fn follow(&self, frames: &Frames, before: &mut Before) -> Result<Order, LogError> {
        let mut are_in_order = true;
        for (device, trace) in (0_u32..).zip(self.traces) {
            let mut last = None;
            for event in self.events(device, trace, frames)? {
                let event = event?;
                are_in_order &= event.time.is_some() && last <= event.time;
                last = event.time;
                before.note(&event);
            }
        }
        Ok(if are_in_order { Order::Times } else { Order::Devices })
    }

    /// Passes on all events. Errors have already been reported.
    fn pass_on(&self, order: Order, frames: &Frames, sink: &mut dyn FnMut(Event)) {
        let events = (0_u32..).zip(self.traces).filter_map(|(device, trace)| {
            Some(self.events(device, trace, frames).ok()?.filter_map(Result::ok))
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

/// Returns the event of an entry, or an error that names the wrong key. An entry whose kind is not
/// listed below has no event.
fn event(
    entry: &Entry,
    device: u32,
    index: u64,
    frames: &Frames,
) -> Result<Option<Event>, (&'static str, NumberError)> {
    let name = entry.action.map_or("", |text| frames.text_of(text));
    let action = match name {
        "alloc" => Action::Allocate,
        "free_requested" => Action::RequestFree,
        "free_completed" | "free" => Action::Free,
        "segment_alloc" | "segment_map" => Action::Reserve,
        "segment_free" | "segment_unmap" => Action::Release,
        "oom" => Action::Fail,
        // The entry is of kind `snapshot`, or of a kind that a later version has added.
        _ => return Ok(None),
    };
    let number = |value: Number, key| value.unsigned().map_err(|error| (key, error));
    let size = number(entry.size, "size")?;
    // A failed allocation has no address.
    let addr = if action == Action::Fail { 0 } else { number(entry.addr, "addr")? };
    let event = Event::new(action, Place::Trace(device, index), addr, size);
    let stream = entry.stream.bits().map_err(|error| ("stream", error))?;
    let time = match entry.time {
        Number::Missing => None,
        time => Some(time.signed().map_err(|error| ("time_us", error))?),
    };
    Ok(Some(Event { device, stream, time, stack: entry.stack, ..event }))
}

/// The state before the traces begin.
#[derive(Debug, Default)]
struct Before {
    buffers: BTreeMap<(u32, u64), Event>,
    /// Buffers that are live when the traces end, and were allocated during the traces.
    allocated: HashMap<(u32, u64), ()>,
    /// For each device, the bytes reserved at the end, minus the bytes that were taken during the
    /// trace, plus the bytes that were returned.
    reserved: BTreeMap<u32, i128>,
}

impl Before {
    fn note(&mut self, event: &Event) {
        let key = (event.device, event.address);
        match event.action {
            Action::Allocate => {
                self.allocated.insert(key, ());
            }
            Action::Free if self.allocated.remove(&key).is_none() => {
                // The stack of a free belongs to the code that freed the buffer, not to the code
                // that allocated it.
                let stack = Stack::default();
                let earlier = Event { action: Action::Allocate, stack, ..*event };
                self.buffers.entry(key).or_insert(earlier);
            }
            Action::Reserve => {
                *self.reserved.entry(event.device).or_default() -= i128::from(event.bytes);
            }
            Action::Release => {
                *self.reserved.entry(event.device).or_default() += i128::from(event.bytes);
            }
            Action::Free | Action::RequestFree | Action::Fail => {}
        }
    }

    fn pass_on(self, sink: &mut dyn FnMut(Event)) {
        for (device, bytes) in self.reserved {
            if let Some(bytes) = u64::try_from(bytes).ok().filter(|&bytes| bytes > 0) {
                let event = Event::new(Action::Reserve, Place::Before, 0, bytes);
                sink(Event { device, ..event });
            }
        }
        for event in self.buffers.into_values() {
            sink(Event { place: Place::Before, time: None, ..event });
        }
    }
}

/// Adds the data from the segments to the state before the traces.
fn blocks(pickle: &Pickle, frames: &mut Frames, before: &mut Before) -> Result<(), LogError> {
    let segments = match pickle.dict(&pickle.root) {
        Some(root) => root.get(Field::Segments),
        None => Some(&pickle.root),
    };
    let Some(segments) = segments else { return Ok(()) };
    let segments =
        pickle.list(segments).ok_or_else(|| wrong("segments", "the value is not a list"))?;
    for (index, segment) in segments.iter().enumerate() {
        let place = format!("segments[{index}]");
        let segment = pickle
            .dict(segment)
            .ok_or_else(|| wrong(place.as_str(), "the value is not a dictionary"))?;
        let size = number(segment, Field::TotalSize, &place)?;
        let device = optional(segment, Field::Device, &place)?.unwrap_or(0);
        let device = u32::try_from(device).ok().filter(|&device| device < MOST_DEVICES);
        let device = device.ok_or_else(|| wrong(place.as_str(), "device is out of range"))?;
        *before.reserved.entry(device).or_default() += i128::from(size);
        let stream = segment.number(Field::Stream).bits();
        let stream = stream.map_err(|error| wrong(place.as_str(), format!("stream {error}")))?;
        let mut address = number(segment, Field::Address, &place)?;
        let blocks = segment.get(Field::Blocks).and_then(|blocks| pickle.list(blocks));
        for (index, block) in blocks.unwrap_or_default().iter().enumerate() {
            let place = format!("{place}.blocks[{index}]");
            let block = pickle
                .dict(block)
                .ok_or_else(|| wrong(place.as_str(), "the value is not a dictionary"))?;
            let size = number(block, Field::Size, &place)?;
            let key = (device, address);
            if is_active(block, frames) && !before.allocated.contains_key(&key) {
                let asked = optional(block, Field::RequestedSize, &place)?.unwrap_or(size);
                let stack = block.get(Field::Frames).map(|value| pickle.stack(value, frames));
                let stack = stack.transpose();
                let stack =
                    stack.map_err(|error| wrong(place.as_str(), format!("line {error}")))?;
                let event = Event::new(Action::Allocate, Place::Before, address, asked);
                let stack = stack.unwrap_or_default();
                before.buffers.entry(key).or_insert(Event { device, stream, stack, ..event });
            }
            address = address.checked_add(size).ok_or_else(|| {
                wrong(place.as_str(), "the end of the block does not fit in 64 bits")
            })?;
        }
    }
    Ok(())
}

/// Returns `true` if the block has an owner, or if other streams may still use it.
fn is_active(block: &Dict, frames: &Frames) -> bool {
    match block.get(Field::State) {
        Some(&Value::Text(state)) => frames.text_of(state).starts_with("active"),
        _ => false,
    }
}

fn number(dict: &Dict, field: Field, place: &str) -> Result<u64, LogError> {
    let number = dict.number(field).unsigned();
    number.map_err(|error| wrong(place, format!("{} {error}", field.name())))
}

fn optional(dict: &Dict, field: Field, place: &str) -> Result<Option<u64>, LogError> {
    if dict.get(field).is_none() {
        return Ok(None);
    }
    number(dict, field, place).map(Some)
}
