//! Textbook heuristics in simple code, written from a textbook: the reference for the planner's
//! own.
//!
//! Placed buffers are listed by buckets of time, as wide as a mean lifetime. A placement gathers
//! those that overlap, sorts them by offset and takes the first or the smallest free range. It uses
//! nothing of the library but its buffers.

use std::cmp::Reverse;

use pool_plan::{Buffer, GreedyFit, GreedyOrder};

/// Returns the offsets and the peak of a heuristic; gaps and fixed offsets are unsupported.
pub(crate) fn plan(buffers: &[Buffer], order: GreedyOrder, fit: GreedyFit) -> (Vec<u64>, u64) {
    place_in_order(buffers, &sorted(buffers, order), fit)
}

/// Returns the peak of hill climbing: two random buffers of an order swap places, and the swap
/// stays if the peak of the first-fit plan is no higher. `None` if there was no time for one plan.
pub(crate) fn climb(buffers: &[Buffer], goes_on: &mut dyn FnMut() -> bool) -> Option<u64> {
    let mut order = sorted(buffers, GreedyOrder::Size);
    let mut best = None;
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    let mut below = |limit: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 16) as usize % limit
    };
    while goes_on() {
        let (one, other) = (below(order.len()), below(order.len()));
        order.swap(one, other);
        let peak = place_in_order(buffers, &order, GreedyFit::First).1;
        // A plan that was not done in time does not count.
        if !goes_on() {
            break;
        }
        if best.is_none_or(|best| peak <= best) {
            best = Some(peak);
        } else {
            order.swap(one, other);
        }
    }
    best
}

/// Returns the offsets and the peak of buffers that are placed in an order.
fn place_in_order(buffers: &[Buffer], order: &[u32], fit: GreedyFit) -> (Vec<u64>, u64) {
    let first = buffers.iter().map(|one| one.lower).min().unwrap_or(0);
    let last = buffers.iter().map(|one| one.upper).max().unwrap_or(1);
    let lifetimes: i64 = buffers.iter().map(|one| one.upper - one.lower).sum();
    let width = (lifetimes / buffers.len().max(1) as i64).max((last - first) >> 20).max(1);
    let mut buckets: Vec<Vec<u32>> = vec![Vec::new(); ((last - first) / width + 1) as usize];
    let bucket = |time: i64| ((time - first) / width) as usize;
    let mut offsets = vec![0; buffers.len()];
    let mut seen = vec![u32::MAX; buffers.len()];
    let (mut ranges, mut peak) = (Vec::new(), 0);
    for &number in order {
        let one = &buffers[number as usize];
        let own = bucket(one.lower)..=bucket(one.upper - 1);
        ranges.clear();
        for &other in buckets[own.clone()].iter().flatten() {
            let placed = &buffers[other as usize];
            if placed.lower < one.upper
                && one.lower < placed.upper
                && std::mem::replace(&mut seen[other as usize], number) != number
            {
                let offset: u64 = offsets[other as usize];
                ranges.push((offset, offset + placed.size));
            }
        }
        ranges.sort_unstable();
        let offset = place(&ranges, one, fit);
        offsets[number as usize] = offset;
        peak = peak.max(offset + one.size);
        buckets[own].iter_mut().for_each(|list| list.push(number));
    }
    (offsets, peak)
}

fn place(ranges: &[(u64, u64)], one: &Buffer, fit: GreedyFit) -> u64 {
    let (mut end, mut best): (u64, Option<(u64, u64)>) = (0, None);
    for &(low, high) in ranges {
        let aligned = end.next_multiple_of(one.alignment);
        if aligned + one.size <= low && best.is_none_or(|(spare, _)| low - end < spare) {
            best = Some((low - end, aligned));
            if fit == GreedyFit::First {
                break;
            }
        }
        end = end.max(high);
    }
    best.map_or_else(|| end.next_multiple_of(one.alignment), |best| best.1)
}

fn sorted(buffers: &[Buffer], order: GreedyOrder) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..buffers.len() as u32).collect();
    let at = |number: u32| &buffers[number as usize];
    let lifetime = |number: u32| (at(number).upper - at(number).lower) as u64;
    match order {
        GreedyOrder::Size => numbers.sort_by_key(|&one| (Reverse(at(one).size), at(one).lower)),
        GreedyOrder::Area => numbers.sort_by_key(|&one| {
            (Reverse(u128::from(at(one).size) * u128::from(lifetime(one))), at(one).lower)
        }),
        GreedyOrder::Lifetime => {
            numbers.sort_by_key(|&one| (Reverse(lifetime(one)), at(one).lower));
        }
        GreedyOrder::Start => numbers.sort_by_key(|&one| at(one).lower),
        GreedyOrder::End => numbers.sort_by_key(|&one| (Reverse(at(one).upper), at(one).lower)),
        GreedyOrder::Conflicts => {
            let mut begins: Vec<i64> = buffers.iter().map(|one| one.lower).collect();
            let mut ends: Vec<i64> = buffers.iter().map(|one| one.upper).collect();
            begins.sort_unstable();
            ends.sort_unstable();
            numbers.sort_by_cached_key(|&one| {
                let begun = begins.partition_point(|&time| time < at(one).upper);
                let ended = ends.partition_point(|&time| time <= at(one).lower);
                (Reverse(begun - ended), at(one).lower)
            });
        }
        GreedyOrder::Breadth => return by_breadth(buffers),
    }
    numbers
}

/// The time with the most live bytes comes first, and at it the largest buffer.
fn by_breadth(buffers: &[Buffer]) -> Vec<u32> {
    let mut events = Vec::new();
    for (number, one) in (0_u32..).zip(buffers) {
        events.push((one.lower, true, number));
        events.push((one.upper, false, number));
    }
    events.sort_unstable();
    // (bytes, time) of all begins; then the place of each begin in the list of the broadest.
    let (mut live, mut times) = (0, Vec::<(i64, u64)>::new());
    for (time, begins, number) in events {
        let size = buffers[number as usize].size;
        if !begins {
            live -= size;
            continue;
        }
        live += size;
        match times.last_mut().filter(|last| last.0 == time) {
            Some(last) => last.1 = live,
            None => times.push((time, live)),
        }
    }
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by_key(|&time| (Reverse(times[time].1), time));
    let mut places = vec![0; times.len()];
    order.iter().enumerate().for_each(|(place, &time)| places[time] = place);
    // The lowest place of a range of times, by a table of powers of two.
    let mut table = vec![places];
    while let Some(last) = table.last().filter(|last| last.len() > 1 << (table.len() - 1)) {
        let step = 1 << (table.len() - 1);
        let next = (0..last.len() - step).map(|at| last[at].min(last[at + step])).collect();
        table.push(next);
    }
    let place = |one: &Buffer| {
        let first = times.partition_point(|time| time.0 < one.lower);
        let end = times.partition_point(|time| time.0 < one.upper);
        let level = (end - first).ilog2() as usize;
        table[level][first].min(table[level][end - (1 << level)])
    };
    let mut numbers: Vec<u32> = (0..buffers.len() as u32).collect();
    numbers.sort_by_cached_key(|&number| {
        let one = &buffers[number as usize];
        (place(one), Reverse(one.size), one.lower, number)
    });
    numbers
}
