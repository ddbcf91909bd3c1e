//! The heaviest set of buffers that are live at one time, by a sweep over beginnings and ends.

use crate::buffer::Buffer;

/// The buffers live at the first time at which `weights` of live buffers sum up highest.
pub(super) fn heaviest(buffers: &[Buffer], weights: &[u64]) -> Vec<usize> {
    let mut events = Vec::with_capacity(buffers.len() * 2);
    for (index, buffer) in buffers.iter().enumerate() {
        for (lower, upper) in buffer.live_spans() {
            events.push((lower, true, weights[index]));
            events.push((upper, false, weights[index]));
        }
    }
    // At one time, ends come before beginnings.
    events.sort_unstable();
    let (mut live, mut most, mut when) = (0_u64, 0_u64, None);
    for (time, begins, weight) in events {
        if !begins {
            live -= weight;
            continue;
        }
        live += weight;
        if live > most || when.is_none() {
            (most, when) = (live, Some(time));
        }
    }
    let is_live = |buffer: &Buffer| {
        let at =
            |(lower, upper): (i64, i64)| when.is_some_and(|time| lower <= time && time < upper);
        buffer.live_spans().any(at)
    };
    (0..buffers.len()).filter(|&one| weights[one] > 0 && is_live(&buffers[one])).collect()
}
