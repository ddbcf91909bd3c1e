//! Reads the CSV log of RMM's `logging_resource_adaptor`, and the event log of earlier versions,
//! with one event per line.
//!
//! [`Header`] contains the columns of each version. Pointers and streams are hexadecimal. Pointers
//! begin with `0x`, and a null pointer is `(nil)`. If several logs were appended to each other, the
//! header occurs again, possibly in the form of another version. Allocations of 0 bytes have no
//! address, and are passed on unchanged.

use std::io::BufRead;

use super::error::LogError;
use super::event::{Action, Event, Place};
use super::header::{Column, Header, fields};
use super::lines::Lines;
use super::others::Others;

/// Reads a log.
pub(super) fn read(
    source: &mut impl BufRead,
    others: &mut Others,
    sink: &mut dyn FnMut(Event),
) -> Result<(), LogError> {
    let mut lines = Lines::new(source);
    let mut header = Header::newest();
    while let Some((number, line)) = lines.next()? {
        let fields: Vec<&str> = fields(line).collect();
        match event(number, &fields, &header) {
            Ok(event) => sink(event),
            Err(message) => match Header::of(line) {
                Ok(new) => header = new,
                Err(_) if others.skip(is_record(&fields)) => {}
                Err(_) => return Err(LogError::line(number, message)),
            },
        }
    }
    Ok(())
}

/// Returns `true` if a line looks like an event. Such a line begins with numbers, such as a thread
/// or a time, or contains a pointer.
fn is_record(fields: &[&str]) -> bool {
    let first = fields.first().copied().unwrap_or_default();
    let is_number = |byte: u8| byte.is_ascii_digit() || matches!(byte, b':' | b'.');
    let is_pointer =
        |field: &&str| field.len() > 2 && (field.starts_with("0x") || field.starts_with("0X"));
    !first.is_empty() && first.bytes().all(is_number)
        || fields.len() > 2 && fields.iter().any(is_pointer)
}

fn event(number: u64, fields: &[&str], header: &Header) -> Result<Event, String> {
    let named = |column: Column, message: String| format!("{}: {message}", header.name(column));
    let time = match header.field(fields, Column::Time)? {
        Some(text) => Some(time(text).map_err(|message| named(Column::Time, message))?),
        None => None,
    };
    let action = action(header.needed(fields, Column::Action)?);
    let action = action.map_err(|message| named(Column::Action, message))?;
    let pointer = address(header.needed(fields, Column::Pointer)?);
    let pointer = pointer.map_err(|message| named(Column::Pointer, message))?;
    let size = header.needed(fields, Column::Size)?;
    let stream = header.field(fields, Column::Stream)?.map_or(Ok(0), hexadecimal);
    let device = header.field(fields, Column::Device)?.unwrap_or("0");
    header.check_count(fields.len())?;
    let size = size
        .parse()
        .map_err(|_| named(Column::Size, format!("{size:?} is not a 64-bit number")))?;
    let device = device
        .parse()
        .map_err(|_| named(Column::Device, format!("{device:?} is not a 32-bit number")))?;
    let stream = stream.map_err(|message| named(Column::Stream, message))?;
    let event = Event::new(action, Place::Line(number), pointer, size);
    Ok(Event { time, stream, device, ..event })
}

fn action(text: &str) -> Result<Action, String> {
    match text {
        "allocate" | "Alloc" => Ok(Action::Allocate),
        "free" | "Free" => Ok(Action::Free),
        "allocate failure" => Ok(Action::Fail),
        _ => Err(format!("{text:?} is not one of \"allocate\", \"allocate failure\", \"free\"")),
    }
}

/// Returns the number of a pointer, or 0 for a null pointer.
pub(super) fn address(text: &str) -> Result<u64, String> {
    // These are the forms of a null pointer in glibc and in Microsoft's C library.
    if matches!(text, "(nil)" | "(null)") { Ok(0) } else { hexadecimal(text) }
}

/// Returns the number of a pointer or of a stream.
fn hexadecimal(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let wrong = || format!("{text:?} is not a hexadecimal 64-bit number");
    if digits.starts_with('+') {
        return Err(wrong());
    }
    u64::from_str_radix(digits, 16).map_err(|_| wrong())
}

/// Returns the number of microseconds that a time represents. The text is a time of day such as
/// `16:48:38.123456`, or the number of seconds since the start, such as `41.7014`. Versions before
/// 0.15 wrote a colon instead of the point in a time of day.
pub(super) fn time(text: &str) -> Result<i64, String> {
    let wrong = || format!("{text:?} is not of the form 16:48:38.123456");
    if !text.contains(':') {
        return seconds(text).ok_or_else(wrong);
    }
    let mut parts = text.split([':', '.']);
    let mut next = || -> Result<i64, String> {
        let part: u32 = parts.next().unwrap_or_default().parse().map_err(|_| wrong())?;
        Ok(part.into())
    };
    let (hours, minutes, seconds, micros) = (next()?, next()?, next()?, next()?);
    if parts.next().is_some() || micros > 999_999 {
        return Err(wrong());
    }
    // If hours and minutes have 32 bits, their sum in microseconds could exceed 64 bits.
    let seconds = (hours * 60 + minutes) * 60 + seconds;
    seconds.checked_mul(1_000_000).and_then(|time| time.checked_add(micros)).ok_or_else(wrong)
}

/// Converts a number of seconds to microseconds, rounded.
fn seconds(text: &str) -> Option<i64> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
    let micros = text.parse::<f64>().ok().filter(|_| is_number)? * 1e6;
    // Above 2^53, a floating-point number is no longer exact.
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    (micros.abs() < 9.0e15).then(|| micros.round() as i64)
}
