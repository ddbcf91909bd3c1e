//! A naive model of several memories: the optimum by every assignment and every order of placement, and textbook greedy
//! plans. It shares no code with the library.

use std::collections::HashMap;

use pool_plan::{Buffer, IntervalProblem, MemoryBuffer, MemoryProblem};

use super::brute::Small;

/// Returns the least cost of a plan, if there is one.
pub(crate) fn optimum(problem: &MemoryProblem) -> Option<u64> {
    let mut peaks = HashMap::new();
    let mut sets = vec![0_u32; problem.memories().len()];
    descend(problem, 0, 0, &mut sets, &mut peaks)
}

fn choices(one: &MemoryBuffer) -> Vec<usize> {
    one.memory.map_or_else(|| one.memories.clone(), |memory| vec![memory])
}

fn descend(
    problem: &MemoryProblem,
    buffer: usize,
    traffic: u64,
    sets: &mut Vec<u32>,
    peaks: &mut HashMap<u32, u64>,
) -> Option<u64> {
    let Some(one) = problem.buffers().get(buffer) else {
        let mut cost = traffic;
        for (memory, &set) in problem.memories().iter().zip(sets.iter()) {
            let peak = *peaks.entry(set).or_insert_with(|| lowest(problem, set));
            if memory.capacity.is_some_and(|capacity| peak > capacity) {
                return None;
            }
            cost += memory.cost * peak;
        }
        return Some(cost);
    };
    let mut best = None;
    for memory in choices(one) {
        sets[memory] |= 1 << buffer;
        let traffic = traffic + problem.memories()[memory].traffic_cost * one.traffic;
        let cost = descend(problem, buffer + 1, traffic, sets, peaks);
        best = best.into_iter().chain(cost).min();
        sets[memory] &= !(1 << buffer);
    }
    best
}

/// Returns the lowest peak of a set of buffers.
fn lowest(problem: &MemoryProblem, set: u32) -> u64 {
    let members = problem.buffers().iter().enumerate().filter(|(index, _)| set >> index & 1 == 1);
    let own: Vec<Buffer> = members.map(|(_, one)| one.buffer.clone()).collect();
    if own.is_empty() {
        return 0;
    }
    Small::of_intervals(&IntervalProblem::new(own).unwrap()).optimum()
}

/// Returns the cost of a greedy plan. Buffers come by falling `key`. Each gets the lowest free offset of the first
/// memory that has room, or of the one in which the cost grows least.
pub(crate) fn greedy(
    problem: &MemoryProblem,
    key: impl Fn(&MemoryBuffer) -> i64,
    by_cost: bool,
) -> Option<u64> {
    let buffers = problem.buffers();
    let mut order: Vec<usize> = (0..buffers.len()).collect();
    order.sort_by_key(|&index| {
        let one = &buffers[index];
        (one.buffer.offset.is_none(), -key(one), one.buffer.lower, index)
    });
    let mut placed: Vec<(usize, usize, u64)> = Vec::new();
    let mut peaks = vec![0_u64; problem.memories().len()];
    let mut traffic = 0;
    for index in order {
        let one = &buffers[index];
        let mut options: Vec<(u64, usize, u64)> = Vec::new();
        for memory in choices(one) {
            let own = placed.iter().filter(|other| other.1 == memory);
            let taken: Vec<(u64, u64)> = own
                .filter(|other| conflict(&buffers[other.0].buffer, &one.buffer))
                .map(|other| (other.2, other.2 + buffers[other.0].buffer.size))
                .collect();
            let ends = taken.iter().map(|range| range.1.next_multiple_of(one.buffer.alignment));
            let mut starts: Vec<u64> = ends.chain([0]).collect();
            starts.sort_unstable();
            let is_free = |&start: &u64| {
                taken.iter().all(|range| range.0 >= start + one.buffer.size || range.1 <= start)
            };
            let free = starts.into_iter().find(is_free);
            let offset = one.buffer.offset.or(free).unwrap();
            let end = offset + one.buffer.size;
            let spec = &problem.memories()[memory];
            if spec.capacity.is_none_or(|capacity| end <= capacity) {
                let grown = end.max(peaks[memory]) - peaks[memory];
                let cost = spec.cost * grown + spec.traffic_cost * one.traffic;
                options.push((if by_cost { cost } else { 0 }, memory, offset));
            }
        }
        let &(_, memory, offset) = options.iter().min_by_key(|option| (option.0, option.1))?;
        peaks[memory] = peaks[memory].max(offset + one.buffer.size);
        traffic += problem.memories()[memory].traffic_cost * one.traffic;
        placed.push((index, memory, offset));
    }
    let held: u64 = problem.memories().iter().zip(&peaks).map(|(one, peak)| one.cost * peak).sum();
    Some(held + traffic)
}

fn conflict(one: &Buffer, other: &Buffer) -> bool {
    let meet = |a: (i64, i64), b: (i64, i64)| a.0 < b.1 && b.0 < a.1;
    let have_bytes = one.size > 0 && other.size > 0;
    have_bytes && one.live_spans().any(|a| other.live_spans().any(|b| meet(a, b)))
}
