//! Reads a snapshot without storing the entries of its traces. The pickle is read once for the
//! state before the traces, and once more for the events.

use std::collections::BTreeMap;
use std::io::{BufRead, Seek};

use super::super::error::LogError;
use super::super::event::Event;
use super::super::frames::Frames;
use super::super::pickle::{Entry, Pickle, Reader};
use super::super::selection::DeviceOrder;
use super::before::{self, Before};
use super::entry::event;
use super::{contents, segments};

/// A trace whose device is not known yet.
#[derive(Debug)]
struct Trace {
    before: Before,
    entries: u64,
    /// The time of the last event.
    time: Option<i64>,
    /// `true` if all events have times that never decrease.
    is_in_order: bool,
    /// `true` if an entry is invalid. The error is reported when the device is known.
    is_invalid: bool,
}

impl Trace {
    fn new() -> Self {
        let before = Before::default();
        Self { before, entries: 0, time: None, is_in_order: true, is_invalid: false }
    }

    fn note(&mut self, entry: &Entry, frames: &Frames) {
        let index = self.entries;
        self.entries += 1;
        match event(entry, 0, index, frames) {
            Ok(Some(event)) => {
                self.is_in_order &= event.time.is_some() && self.time <= event.time;
                self.time = event.time;
                self.before.note(index, &event);
            }
            Ok(None) => {}
            Err(_) => self.is_invalid = true,
        }
    }
}

/// Reads a snapshot. Returns `false`, without having passed on any event, if its entries must be
/// stored.
pub(super) fn read(
    reader: &mut Reader<'_, impl BufRead + Seek>,
    order: DeviceOrder,
    frames: &mut Frames,
    sink: &mut dyn FnMut(Event),
) -> Result<bool, LogError> {
    let mut traces: Vec<Trace> = Vec::new();
    let pickle = reader.stream(frames, &mut |trace, entry, frames| {
        let at = usize::try_from(trace).unwrap_or(usize::MAX);
        if at == traces.len() {
            traces.push(Trace::new());
        }
        if let Some(trace) = traces.get_mut(at) {
            trace.note(&entry, frames);
        }
    })?;
    let Some(pickle) = pickle else { return Ok(false) };
    let Some(devices_of) = devices_of(&pickle, traces.len())? else { return Ok(false) };
    let are_in_order = traces.iter().all(|trace| trace.is_in_order);
    let is_invalid = traces.iter().any(|trace| trace.is_invalid);
    // Traces that are merged by time must be stored. An error names the first invalid entry in the
    // order of the devices, which the other reader finds.
    let is_merged = order == DeviceOrder::Merged && are_in_order && traces.len() > 1;
    if is_invalid || is_merged {
        return Ok(false);
    }
    let states = devices_of.iter().copied().zip(traces.into_iter().map(|trace| trace.before));
    let mut devices: BTreeMap<u32, Before> = states.collect();
    segments::add(&pickle, frames, &mut devices)?;
    drop(pickle);
    before::pass_on(&devices, sink);
    let mut entries = vec![0; devices_of.len()];
    reader.stream(frames, &mut |trace, entry, frames| {
        let at = usize::try_from(trace).unwrap_or(usize::MAX);
        let (Some(&device), Some(index)) = (devices_of.get(at), entries.get_mut(at)) else {
            return;
        };
        // Errors have already been reported.
        if let Ok(Some(event)) = event(&entry, device, *index, frames) {
            let pool = devices.get(&device).map(|before| before.pool_of(event.address, *index));
            sink(Event { pool: pool.unwrap_or_default(), ..event });
        }
        *index += 1;
    })?;
    Ok(true)
}

/// Returns the device of each trace whose entries were passed on. Returns `None` if the entries
/// must be stored, because a list of the pickle is not the trace of exactly one device, or because
/// the traces are not in the order of their devices.
fn devices_of(pickle: &Pickle, traces: usize) -> Result<Option<Vec<u32>>, LogError> {
    let mut devices = Vec::new();
    for (device, trace) in (0_u32..).zip(contents::traces(pickle)?) {
        let next = u32::try_from(devices.len()).ok();
        match pickle.passed_on(trace) {
            None => {}
            Some(number) if number.is_some() && number == next => devices.push(device),
            Some(_) => return Ok(None),
        }
    }
    Ok((devices.len() == traces).then_some(devices))
}
