//! Converts the entries of a trace to events.

use super::super::error::LogError;
use super::super::event::{Action, Event, Place};
use super::super::frames::Frames;
use super::super::pickle::{Entry, Number, NumberError};
use super::contents::wrong;

/// Returns the event of an entry, or an error that names the place and the key. An entry whose kind
/// is not listed below has no event.
pub(super) fn event(
    entry: &Entry,
    device: u32,
    index: u64,
    frames: &Frames,
) -> Result<Option<Event>, LogError> {
    convert(entry, device, index, frames).map_err(|(key, error)| {
        wrong(Place::Trace(device, index).to_string(), format!("{key} {error}"))
    })
}

fn convert(
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
