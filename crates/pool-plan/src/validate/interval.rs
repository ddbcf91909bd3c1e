//! The validation of interval plans, based on time. The validator visits all starts and ends in
//! order of time. The live buffers are stored in a map, sorted by offset. A new buffer must not
//! overlap its lower or upper neighbor in the map.

use std::collections::BTreeMap;

use super::ends::{PlacedBuffer, ends};
use super::witness::{self, Witnessed};
use crate::buffer::Buffer;
use crate::violation::Violation;

/// Returns the peak of a plan that places buffer `i` at `offsets[i]`. The peak is the offset just
/// past the highest byte that any buffer occupies.
///
/// # Errors
/// Returns the first violation that the validator finds.
pub(crate) fn peak(buffers: &[Buffer], offsets: &[u64]) -> Result<u64, Violation> {
    if offsets.len() != buffers.len() {
        let (offsets, buffers) = (offsets.len(), buffers.len());
        return Err(Violation::WrongLength { offsets, buffers });
    }
    let ends = ends(buffers.iter().zip(offsets).map(|(buffer, &offset)| PlacedBuffer {
        size: buffer.size,
        alignment: buffer.alignment,
        fixed: buffer.offset,
        offset,
    }))?;
    let placed = buffers.iter().enumerate();
    overlap(placed.map(|(index, buffer)| (index, buffer, offsets[index], ends[index])))?;
    Ok(ends.into_iter().max().unwrap_or(0))
}

/// Returns the given buffers' total size in bytes. The size is a lower bound on the peak of every
/// plan because all of these buffers are live at the same time.
///
/// # Errors
/// Fails if an index belongs to no buffer or is listed twice. The function also fails if the
/// buffers are not all live at the same time.
pub(crate) fn witnessed(buffers: &[Buffer], some: &[usize]) -> Result<u64, Violation> {
    let mut events: Vec<(i64, bool, usize)> = Vec::new();
    for &index in some {
        let one = buffers.get(index).ok_or(Violation::NoSuchBuffer { buffer: index })?;
        for (lower, upper) in one.live_spans() {
            events.extend([(lower, true, index), (upper, false, index)]);
        }
    }
    // If one buffer ends when another begins, the end is processed before the beginning.
    events.sort_unstable();
    let (mut live, mut most, mut when) = (0_usize, 0, 0);
    for &(time, begins, _) in &events {
        live = if begins { live + 1 } else { live.saturating_sub(1) };
        if live > most {
            (most, when) = (live, time);
        }
    }
    let mut seen = vec![false; buffers.len()];
    let mut witness = Vec::with_capacity(some.len());
    for &index in some {
        let one = &buffers[index];
        let is_live = one.live_spans().any(|(lower, upper)| lower <= when && when < upper);
        if !is_live || std::mem::replace(&mut seen[index], true) {
            return Err(Violation::NotAtOnce { buffer: index, time: when });
        }
        witness.push(Witnessed { size: one.size, alignment: one.alignment, fixed: one.offset });
    }
    Ok(witness::bytes(&witness))
}

/// Returns an error if fixed offsets collide.
pub(crate) fn check_fixed(buffers: &[Buffer]) -> Result<(), Violation> {
    let fixed = buffers.iter().enumerate().filter_map(|(index, buffer)| {
        let offset = buffer.offset?;
        Some((index, buffer, offset, offset.saturating_add(buffer.size)))
    });
    overlap(fixed)
}

/// The start or end of a span during which a buffer is live. The event is a tuple of the time, a
/// flag, the buffer's index, its first byte, and its end. The flag is `true` for a start.
type Event = (i64, bool, usize, u64, u64);

/// Returns the events of a buffer that is live during `[lower, upper)`. If the span is empty, the
/// function returns no events.
fn live(lower: i64, upper: i64, index: usize, start: u64, end: u64) -> impl Iterator<Item = Event> {
    let events = [(lower, true, index, start, end), (upper, false, index, start, end)];
    events.into_iter().filter(move |_| lower < upper)
}

/// Returns an error if two buffers share bytes while both are live. The caller passes the start and
/// end of each buffer's byte range.
fn overlap<'a>(
    placed: impl Iterator<Item = (usize, &'a Buffer, u64, u64)>,
) -> Result<(), Violation> {
    let mut events: Vec<Event> = Vec::new();
    for (index, buffer, start, end) in placed {
        if start == end {
            continue;
        }
        let mut begins = buffer.lower;
        for gap in &buffer.gaps {
            events.extend(live(begins, gap.lower, index, start, end));
            begins = gap.upper;
        }
        events.extend(live(begins, buffer.upper, index, start, end));
    }
    // If one buffer ends when another begins, the end is processed before the beginning.
    events.sort_unstable();
    let mut live: BTreeMap<u64, (u64, usize)> = BTreeMap::new();
    for (time, begins, index, start, end) in events {
        if !begins {
            live.remove(&start);
            continue;
        }
        let below = live.range(..end).next_back();
        if let Some((_, &(below_end, first))) = below {
            if below_end > start {
                return Err(Violation::LiveTogether { first, second: index, time });
            }
        }
        live.insert(start, (end, index));
    }
    Ok(())
}
