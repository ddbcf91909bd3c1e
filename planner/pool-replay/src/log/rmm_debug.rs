//! Reads RMM's debug log (`RMM_DEBUG_LOG_FILE`). A line is, for example,
//! `[12345][16:48:38:123456][trace ] [A][stream 0x2][256B][0x7f00]`.
//!
//! `[A]` with a pointer is a completed allocation, `[D]` a deallocation, and `[A]` with `FAILURE` a
//! failed allocation. Other lines contain no event.

use std::io::BufRead;

use super::error::LogError;
use super::event::{Action, Event, Place};
use super::lines::Lines;
use super::others::Others;
use super::rmm::{address, time};

/// Returns `true` if a line contains an event of an allocator.
pub(super) fn is_event(line: &str) -> bool {
    start(line).is_some()
}

/// Reads a log.
pub(super) fn read(
    source: &mut impl BufRead,
    others: &mut Others,
    sink: &mut dyn FnMut(Event),
) -> Result<(), LogError> {
    let mut lines = Lines::new(source);
    while let Some((number, line)) = lines.next()? {
        match event(number, line).map_err(|message| LogError::line(number, message))? {
            Some(event) => sink(event),
            None => others.pass(),
        }
    }
    Ok(())
}

/// Returns the position at which the bracketed fields of an event start.
fn start(line: &str) -> Option<usize> {
    let lower = line.to_ascii_lowercase();
    ["[a][stream ", "[d][stream "].iter().find_map(|mark| lower.find(mark))
}

fn event(number: u64, line: &str) -> Result<Option<Event>, String> {
    let Some(start) = start(line) else { return Ok(None) };
    let (head, marks) = line.split_at(start);
    let mut groups = groups(marks);
    let is_allocation = groups.next() == Some("A");
    let stream = groups.next().and_then(|group| group.split_whitespace().nth(1));
    let stream = address(stream.unwrap_or_default()).map_err(|why| format!("stream: {why}"))?;
    let size = groups.next().ok_or("the size is missing")?;
    let has_failed = line.contains("FAILURE");
    // `Upstream 256B` is a request to the upstream resource.
    let digits = size.trim_start_matches(|letter: char| !letter.is_ascii_digit());
    let bytes = digits.strip_suffix('B').and_then(|digits| digits.parse().ok());
    let bytes = bytes.ok_or_else(|| format!("size: {size:?} is not a 64-bit number"))?;
    let pointer = groups.next().filter(|group| group.starts_with("0x") || group.starts_with('('));
    let action = match (is_allocation, has_failed, pointer) {
        (true, true, _) => Action::Fail,
        // The line only announces an allocation. Another line reports the completion of the
        // allocation, and contains the pointer.
        (_, _, None) => return Ok(None),
        (true, false, Some(_)) => Action::Allocate,
        (false, ..) => Action::Free,
    };
    let pointer = address(pointer.unwrap_or("(nil)")).map_err(|why| format!("pointer: {why}"))?;
    let time =
        self::groups(head).find_map(|group| time(group).ok().filter(|_| group.contains(':')));
    let event = Event::new(action, Place::Line(number), pointer, bytes);
    Ok(Some(Event { stream, time, ..event }))
}

/// Returns the texts in brackets.
fn groups(text: &str) -> impl Iterator<Item = &str> {
    text.split('[').skip(1).filter_map(|part| part.split(']').next())
}
