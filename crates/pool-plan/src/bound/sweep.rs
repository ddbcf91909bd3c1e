//! Sweeps over the starts and ends of all buffers to find the heaviest set of buffers that are live
//! at the same time.

use crate::timeline::Timeline;

/// Returns the items that are live in the section with the largest sum of `weights`, except for
/// items of weight 0. If several sections have the largest sum, the function selects the first one.
// Uncounted: the loop needs no counter because the function makes only one pass over the sections.
// This function runs before the planner computes its first plan.
pub(super) fn heaviest_section(timeline: &Timeline, weights: &[u64]) -> Vec<usize> {
    let totals = timeline.totals(weights);
    let most = totals.iter().copied().max().unwrap_or(0);
    let Some(section) = totals.iter().position(|&total| total == most) else { return Vec::new() };
    timeline.live_at(section).filter(|&item| weights[item] > 0).collect()
}

/// Returns the buffers that are live at the time at which the sum of `weights` is largest. If the
/// sum is largest at several times, the function selects the first one. `live_spans` returns the
/// spans during which a buffer is live.
// Uncounted: the loop needs no counter because the function sorts the events only once. This
// function runs before the planner computes its first plan.
pub(super) fn heaviest<S>(live_spans: impl Fn(usize) -> S, weights: &[u64]) -> Vec<usize>
where
    S: IntoIterator<Item = (i64, i64)>,
{
    let mut events = Vec::with_capacity(weights.len() * 2);
    for (index, &weight) in weights.iter().enumerate() {
        for (lower, upper) in live_spans(index) {
            events.push((lower, true, weight));
            events.push((upper, false, weight));
        }
    }
    // If one buffer ends when another begins, the end is processed before the beginning.
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
    let at = |(lower, upper): (i64, i64)| when.is_some_and(|time| lower <= time && time < upper);
    let is_live = |&one: &usize| weights[one] > 0 && live_spans(one).into_iter().any(at);
    (0..weights.len()).filter(is_live).collect()
}
