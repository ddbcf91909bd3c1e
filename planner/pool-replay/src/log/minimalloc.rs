//! Reads `MiniMalloc`'s CSV format, or any buffers with lifetimes, as a log. At each time, all
//! frees come before all allocations. Events of the same kind are in the order of the file.
//!
//! If the file contains a plan, the offsets of the plan are used as addresses. Offsets that collide
//! are refused. Without offsets, each buffer is assigned its own addresses.

use std::collections::BTreeMap;
use std::io::{BufRead, Read as _};

use crate::csv::{self, CsvOptions};
use pool_plan::{Buffer, IntervalProblem, PlanError};

use super::error::LogError;
use super::event::{Action, Event, Place};

/// The maximum number of bytes that are read from a file. The limit exists because a problem is
/// validated as a whole.
const MOST_BYTES: u64 = 1 << 28;

/// Reads a file of buffers.
pub(super) fn read(source: &mut impl BufRead, sink: &mut dyn FnMut(Event)) -> Result<(), LogError> {
    let mut text = String::new();
    source.by_ref().take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        let limit = usize::try_from(MOST_BYTES).unwrap_or(usize::MAX);
        return Err(PlanError::TooMany { what: "bytes of text", count: text.len(), limit }.into());
    }
    let problem = csv::read(&text, CsvOptions { fixed: true, alignment: None })?;
    replay(&problem, sink);
    Ok(())
}

/// Passes on the allocations and frees of a problem's buffers.
pub(super) fn replay(problem: &IntervalProblem, sink: &mut dyn FnMut(Event)) {
    let buffers: Vec<_> = problem.buffers().iter().map(|buffer| (buffer, 0)).collect();
    pass_on(&buffers, sink);
}

/// Passes on the allocations and frees of buffers, each with the number of its device.
pub(super) fn pass_on(buffers: &[(&Buffer, u32)], sink: &mut dyn FnMut(Event)) {
    let has_plan = buffers.iter().all(|(buffer, _)| buffer.offset.is_some());
    let mut events: Vec<(i64, bool, u64, Event)> = Vec::new();
    let mut ends: BTreeMap<u32, u64> = BTreeMap::new();
    for (index, &(buffer, device)) in (0_u64..).zip(buffers) {
        // A buffer of size 0 is never live, and its offset may lie inside another buffer.
        if buffer.size == 0 {
            continue;
        }
        let end = ends.entry(device).or_default();
        let address = buffer.offset.filter(|_| has_plan).unwrap_or(*end);
        *end = end.saturating_add(buffer.size);
        let place = Place::Buffer(index + 1);
        for (lower, upper) in buffer.live_spans() {
            for (action, time) in [(Action::Allocate, lower), (Action::Free, upper)] {
                let event = Event::new(action, place, address, buffer.size);
                let event = Event { time: Some(time), device, ..event };
                events.push((time, action == Action::Allocate, index, event));
            }
        }
    }
    events.sort_by_key(|&(time, is_allocation, index, _)| (time, is_allocation, index));
    events.into_iter().for_each(|(.., event)| sink(event));
}
