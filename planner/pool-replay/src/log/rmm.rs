//! RMM's `logging_resource_adaptor`: `Thread,Time,Action,Pointer,Size,Stream`, one event a line.
//!
//! Pointers and streams are hexadecimal, pointers with `0x`, and no pointer is `(nil)`. The header stands again where
//! logs were appended to each other. Allocations of 0 bytes have no address, and are passed on as they are.

use std::io::BufRead;

use super::error::LogError;
use super::event::{Action, Event, Place};
use super::lines::Lines;

const COLUMNS: [&str; 6] = ["Thread", "Time", "Action", "Pointer", "Size", "Stream"];

/// Whether a line is the header.
pub(super) fn is_header(line: &str) -> bool {
    line.trim().split(',').map(str::trim).eq(COLUMNS)
}

/// Reads a log.
pub(super) fn read(source: &mut impl BufRead, sink: &mut dyn FnMut(Event)) -> Result<(), LogError> {
    let mut lines = Lines::new(source);
    while let Some((number, line)) = lines.next()? {
        if !is_header(line) {
            sink(event(number, line).map_err(|message| LogError::line(number, message))?);
        }
    }
    Ok(())
}

fn event(number: u64, line: &str) -> Result<Event, String> {
    let mut fields = line.split(',').map(str::trim);
    let mut next = |column: usize| {
        fields.next().ok_or_else(|| format!("there is no column {:?}", COLUMNS[column]))
    };
    let (_thread, time, action) = (next(0)?, time(next(1)?)?, action(next(2)?)?);
    let (pointer, size, stream) = (address(next(3)?)?, next(4)?, next(5)?);
    if fields.next().is_some() {
        return Err(format!("there are more fields than the {} columns", COLUMNS.len()));
    }
    let size = size.parse().map_err(|_| format!("Size: {size:?} is no number of 64 bits"))?;
    let event = Event::new(action, Place::Line(number), pointer, size);
    Ok(Event { time: Some(time), stream: hexadecimal("Stream", stream)?, ..event })
}

fn action(text: &str) -> Result<Action, String> {
    match text {
        "allocate" => Ok(Action::Allocate),
        "free" => Ok(Action::Free),
        "allocate failure" => Ok(Action::Fail),
        _ => {
            Err(format!("Action: {text:?} is none of \"allocate\", \"allocate failure\", \"free\""))
        }
    }
}

fn address(text: &str) -> Result<u64, String> {
    // As the C library writes a null pointer, and as the one of Microsoft does.
    if matches!(text, "(nil)" | "(null)") { Ok(0) } else { hexadecimal("Pointer", text) }
}

fn hexadecimal(column: &str, text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let wrong = || format!("{column}: {text:?} is no hexadecimal number of 64 bits");
    if digits.starts_with('+') {
        return Err(wrong());
    }
    u64::from_str_radix(digits, 16).map_err(|_| wrong())
}

/// Microseconds of the day of `16:48:38.123456`; versions before 0.15 wrote a colon for the point.
fn time(text: &str) -> Result<i64, String> {
    let wrong = || format!("Time: {text:?} is not of the form 16:48:38.123456");
    let mut parts = text.split([':', '.']);
    let mut next = || -> Result<i64, String> {
        let part: u32 = parts.next().unwrap_or_default().parse().map_err(|_| wrong())?;
        Ok(part.into())
    };
    let (hours, minutes, seconds, micros) = (next()?, next()?, next()?, next()?);
    if parts.next().is_some() || micros > 999_999 {
        return Err(wrong());
    }
    // Hours and minutes of 32 bits are more microseconds than 64 bits have.
    let seconds = (hours * 60 + minutes) * 60 + seconds;
    seconds.checked_mul(1_000_000).and_then(|time| time.checked_add(micros)).ok_or_else(wrong)
}
