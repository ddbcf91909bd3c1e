//! Reads XLA's dump of a buffer assignment (`--xla_dump_to`, `…-buffer-assignment.txt`). The live
//! ranges (`…-live-range.txt`) may follow in the same text.
//!
//! If there are live ranges, each value is a buffer at its offset within its allocation. Such a
//! buffer is live from the value's definition to its last use. Values that share bytes while both
//! are live are treated as one buffer, because XLA updates them in place. Without live ranges, each
//! allocation is a buffer that is always live.

use std::collections::{BTreeMap, HashMap};
use std::io::BufRead;

use pool_plan::PlanError;

use super::error::LogError;
use super::event::{Action, Event, Place};
use super::lines::Lines;
use super::others::Others;

/// The maximum number of values, because each value is compared with the others in its allocation.
const MOST_VALUES: usize = 1 << 17;

/// An allocation, with its line, the base address that it is assigned, and its size in bytes.
#[derive(Clone, Copy, Debug)]
struct Allocation {
    line: u64,
    base: u64,
    bytes: u64,
}

/// A value in an allocation. If a value has a live range, it becomes a buffer.
#[derive(Clone, Debug)]
struct Value {
    name: String,
    line: u64,
    allocation: usize,
    start: u64,
    end: u64,
}

/// A range of addresses that is live from one time to another, exclusive.
#[derive(Clone, Copy, Debug)]
struct Buffer {
    line: u64,
    start: u64,
    end: u64,
    lower: i64,
    upper: i64,
}

/// Returns `true` if a line begins a dump of a buffer assignment.
pub(super) fn is_start(line: &str) -> bool {
    line.starts_with("BufferAssignment:") || allocation(line).is_some()
}

/// Reads a dump.
pub(super) fn read(
    source: &mut impl BufRead,
    others: &mut Others,
    sink: &mut dyn FnMut(Event),
) -> Result<(), LogError> {
    let mut lines = Lines::new(source);
    let (mut allocations, mut values) = (Vec::<Allocation>::new(), Vec::<Value>::new());
    let mut ranges: HashMap<String, (i64, i64)> = HashMap::new();
    let (mut end, mut is_range) = (0_u64, false);
    while let Some((number, line)) = lines.next()? {
        let wrong = |message: &str| LogError::line(number, message);
        if line.starts_with("BufferLiveRange:") {
            is_range = true;
        } else if let Some(bytes) = allocation(line) {
            let bytes = bytes.map_err(|why| LogError::line(number, why))?;
            allocations.push(Allocation { line: number, base: end, bytes });
            end = end.checked_add(bytes).ok_or_else(|| wrong("the sizes exceed 64 bits"))?;
            // Two allocations never touch, so that they are not mistaken for one range.
            end = end.checked_next_multiple_of(256).unwrap_or(u64::MAX);
        } else if line.starts_with("value: <") {
            let of = allocations.last().copied();
            let of = of.ok_or_else(|| wrong("a value comes before the first allocation"))?;
            let (name, bytes, offset) = value(line).map_err(|why| LogError::line(number, why))?;
            let fits = offset.checked_add(bytes).is_some_and(|end| end <= of.bytes);
            if !fits {
                let message = format!(
                    "{bytes} bytes at offset {offset} exceed the {} bytes of the allocation",
                    of.bytes
                );
                return Err(LogError::line(number, message));
            }
            if values.len() == MOST_VALUES {
                let (count, limit) = (MOST_VALUES + 1, MOST_VALUES);
                return Err(PlanError::TooMany { what: "values", count, limit }.into());
            }
            let (start, allocation) = (of.base + offset, allocations.len() - 1);
            values.push(Value { name, line: number, allocation, start, end: start + bytes });
        } else if let Some((name, range)) = range(line).filter(|_| is_range) {
            ranges.insert(name, range);
        } else {
            others.pass();
        }
    }
    for one in &allocations {
        let event = Event::new(Action::Reserve, Place::Line(one.line), one.base, one.bytes);
        sink(Event { time: Some(0), ..event });
    }
    let buffers = if ranges.is_empty() {
        let buffer = |one: &Allocation| Buffer {
            line: one.line,
            start: one.base,
            end: one.base + one.bytes,
            lower: 0,
            upper: 1,
        };
        allocations.iter().map(buffer).collect()
    } else {
        live(&values, &ranges)
    };
    pass_on(&buffers, !ranges.is_empty(), sink);
    Ok(())
}

/// Returns the size in a line such as `allocation 3: size 8192, preallocated-temp:`. An address may
/// precede the size.
fn allocation(line: &str) -> Option<Result<u64, String>> {
    let rest = line.strip_prefix("allocation ")?;
    let (number, rest) = rest.split_once(':')?;
    number.parse::<u64>().ok()?;
    let (_, size) = rest.split_once("size ")?;
    let digits = size.split(|letter: char| !letter.is_ascii_digit()).next().unwrap_or_default();
    Some(digits.parse().map_err(|_| format!("size {digits:?} is not a 64-bit number")))
}

/// Returns the name, the size and the offset in a line such as `value: <12 dot.3 @0>
/// (size=4096,offset=0): f32[32,32]{1,0}`.
fn value(line: &str) -> Result<(String, u64, u64), String> {
    let name = line.split_whitespace().nth(2).unwrap_or_default();
    let number = |key: &str| {
        let text = line.rsplit_once(key).map_or("", |(_, rest)| rest);
        let digits = text.split(|letter: char| !letter.is_ascii_digit()).next();
        let digits = digits.unwrap_or_default();
        digits.parse::<u64>().map_err(|_| format!("{key}{digits} is not a 64-bit number"))
    };
    let (bytes, offset) = (number("(size=")?, number(",offset=")?);
    // A value that is not an element of a tuple has no braces in this line, but empty braces in the
    // live ranges.
    let name = if name.contains('{') { name.to_owned() } else { format!("{name}{{}}") };
    Ok((name, bytes, offset))
}

/// Returns the name and the times in a line such as `dot.3{}:2-7`.
fn range(line: &str) -> Option<(String, (i64, i64))> {
    let (name, times) = line.rsplit_once(':')?;
    let (start, end) = times.split_once('-')?;
    let is_name = name.ends_with('}') && !name.contains(' ');
    is_name.then_some((name.to_owned(), (start.parse().ok()?, end.parse().ok()?)))
}

/// Returns the values that have a range. If values share bytes at the same time, they are merged.
fn live(values: &[Value], ranges: &HashMap<String, (i64, i64)>) -> Vec<Buffer> {
    let mut of: BTreeMap<usize, Vec<Buffer>> = BTreeMap::new();
    for one in values.iter().filter(|one| one.end > one.start) {
        let Some(&(lower, upper)) = ranges.get(&one.name) else { continue };
        let Value { line, start, end, allocation, .. } = *one;
        // In the dump, the time of the last use is inclusive.
        let upper = upper.max(lower).saturating_add(1);
        of.entry(allocation).or_default().push(Buffer { line, start, end, lower, upper });
    }
    of.into_values().flat_map(merged).collect()
}

/// Merges buffers until no two of them share bytes at the same time.
fn merged(mut buffers: Vec<Buffer>) -> Vec<Buffer> {
    buffers.sort_by_key(|one| (one.lower, one.start));
    let mut kept: Vec<Buffer> = Vec::new();
    for mut one in buffers {
        let shares = |other: &Buffer, one: &Buffer| {
            let bytes = other.start < one.end && one.start < other.end;
            bytes && other.lower < one.upper && one.lower < other.upper
        };
        while let Some(at) = kept.iter().position(|other| shares(other, &one)) {
            let other = kept.swap_remove(at);
            one = Buffer {
                line: other.line.min(one.line),
                start: other.start.min(one.start),
                end: other.end.max(one.end),
                lower: other.lower.min(one.lower),
                upper: other.upper.max(one.upper),
            };
        }
        kept.push(one);
    }
    kept
}

/// Passes on the allocations and frees of buffers. At the same time, frees come before allocations.
fn pass_on(buffers: &[Buffer], are_freed: bool, sink: &mut dyn FnMut(Event)) {
    let mut events: Vec<(i64, bool, Event)> = Vec::new();
    for one in buffers.iter().filter(|one| one.end > one.start) {
        let event = |action, time| {
            let event = Event::new(action, Place::Line(one.line), one.start, one.end - one.start);
            (time, action == Action::Allocate, Event { time: Some(time), ..event })
        };
        events.push(event(Action::Allocate, one.lower));
        if are_freed {
            events.push(event(Action::Free, one.upper));
        }
    }
    events.sort_by_key(|&(time, is_allocation, event)| (time, is_allocation, event.address));
    events.into_iter().for_each(|(.., event)| sink(event));
}
