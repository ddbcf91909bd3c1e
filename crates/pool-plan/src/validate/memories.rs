//! The validation of plans for several memories. The validator checks each memory as an interval
//! problem. The validator also checks the plan's cost and the lower bound that follows from the
//! prices. The validator shares no code with the solver.

use super::interval;
use crate::buffer::Buffer;
use crate::memory::{Memory, MemoryBuffer, Placement, Price};
use crate::violation::Violation;

/// Returns each memory's peak.
///
/// # Errors
/// Returns the first violation that the validator finds.
pub(crate) fn peaks(
    memories: &[Memory],
    buffers: &[MemoryBuffer],
    placements: &[Placement],
) -> Result<Vec<u64>, Violation> {
    if placements.len() != buffers.len() {
        let (offsets, buffers) = (placements.len(), buffers.len());
        return Err(Violation::WrongLength { offsets, buffers });
    }
    for (buffer, (one, placement)) in buffers.iter().zip(placements).enumerate() {
        let memory = placement.memory;
        let is_given = one.memory.is_none_or(|given| given == memory);
        if memory >= memories.len() || !one.memories.contains(&memory) || !is_given {
            return Err(Violation::ForbiddenMemory { buffer, memory });
        }
    }
    let mut peaks = Vec::with_capacity(memories.len());
    for (memory, one) in memories.iter().enumerate() {
        let members = (0..buffers.len()).filter(|&buffer| placements[buffer].memory == memory);
        let peak = in_memory(buffers, members, |buffer| placements[buffer].offset)?;
        if let Some(capacity) = one.capacity.filter(|&capacity| peak > capacity) {
            return Err(Violation::OverCapacity { memory, peak, capacity });
        }
        peaks.push(peak);
    }
    Ok(peaks)
}

/// Returns the peak of the given buffers, which must all be in the same memory. A violation
/// contains the indices of the buffers in the whole problem.
fn in_memory(
    buffers: &[MemoryBuffer],
    members: impl Iterator<Item = usize>,
    offset: impl Fn(usize) -> u64,
) -> Result<u64, Violation> {
    let members: Vec<usize> = members.collect();
    let own: Vec<Buffer> = members.iter().map(|&one| buffers[one].buffer.clone()).collect();
    let offsets: Vec<u64> = members.iter().map(|&one| offset(one)).collect();
    interval::peak(&own, &offsets).map_err(|violation| violation.renamed(|one| members[one]))
}

/// Returns an error if fixed offsets collide in a memory, or if a buffer with a fixed offset ends
/// beyond the capacity.
pub(crate) fn check_fixed(memories: &[Memory], buffers: &[MemoryBuffer]) -> Result<(), Violation> {
    for (memory, one) in memories.iter().enumerate() {
        let is_fixed = |&buffer: &usize| {
            buffers[buffer].choices() == [memory] && buffers[buffer].buffer.offset.is_some()
        };
        let members = (0..buffers.len()).filter(is_fixed);
        let peak =
            in_memory(buffers, members, |buffer| buffers[buffer].buffer.offset.unwrap_or(0))?;
        if let Some(capacity) = one.capacity.filter(|&capacity| peak > capacity) {
            return Err(Violation::OverCapacity { memory, peak, capacity });
        }
    }
    Ok(())
}

/// Returns a plan's cost, based on the peak of each memory.
pub(crate) fn cost(
    memories: &[Memory],
    buffers: &[MemoryBuffer],
    placements: &[Placement],
    peaks: &[u64],
) -> u64 {
    // Offsets may be arbitrarily large, so the cost may overflow.
    let held = memories.iter().zip(peaks).map(|(memory, &peak)| memory.cost.saturating_mul(peak));
    let used = buffers.iter().zip(placements);
    let used = used.map(|(one, at)| memories[at.memory].traffic_cost * one.traffic);
    held.chain(used).fold(0, u64::saturating_add)
}

/// Returns the lower bound on the cost, computed from the prices.
///
/// # Errors
/// Fails if a price refers to a nonexistent memory or if the prices are too high.
pub(crate) fn bound(
    memories: &[Memory],
    buffers: &[MemoryBuffer],
    prices: &[Price],
) -> Result<u64, Violation> {
    let unit = i128::from(Price::UNIT);
    let mut total = 0_i128;
    // For each memory, the times that have a price, in ascending order. Each time is stored with
    // the sum of the prices of all earlier times.
    let mut sums: Vec<Vec<(i64, u64)>> = Vec::new();
    if let Some(price) = prices.iter().find(|price| price.memory >= memories.len()) {
        return Err(Violation::PricedTooHigh { memory: price.memory, price: price.price, most: 0 });
    }
    for (memory, one) in memories.iter().enumerate() {
        let mut own: Vec<&Price> = prices.iter().filter(|price| price.memory == memory).collect();
        own.sort_unstable_by_key(|price| price.time);
        let mut sum = 0_u64;
        let mut before = Vec::with_capacity(own.len());
        for price in own {
            before.push((price.time, sum));
            sum = sum.saturating_add(price.price);
        }
        before.push((i64::MAX, sum));
        let cost = i128::from(one.cost) * unit;
        let most = match one.capacity {
            Some(_) => Price::MOST,
            None => u64::try_from(cost).unwrap_or(u64::MAX).min(Price::MOST),
        };
        if sum > most {
            return Err(Violation::PricedTooHigh { memory, price: sum, most });
        }
        let excess = i128::from(sum) - cost;
        if excess > 0 {
            let most = i128::from(i64::MAX);
            total -= excess * one.capacity.map_or(most, |bytes| i128::from(bytes).min(most));
        } else {
            total -= excess * i128::from(fixed_end(buffers, memory));
        }
        sums.push(before);
    }
    let until = |sums: &[(i64, u64)], time: i64| {
        let next = sums.partition_point(|&(at, _)| at < time).min(sums.len() - 1);
        sums[next].1
    };
    for one in buffers {
        let asked = one.choices().iter().map(|&memory| {
            let spans = one.buffer.live_spans();
            let live: u64 = spans
                .map(|(lower, upper)| until(&sums[memory], upper) - until(&sums[memory], lower))
                .sum();
            let traffic = i128::from(memories[memory].traffic_cost) * i128::from(one.traffic);
            traffic * unit + i128::from(live) * i128::from(one.buffer.size)
        });
        total += asked.min().unwrap_or(0);
    }
    Ok(u64::try_from((total + unit - 1).max(0) / unit).unwrap_or(0))
}

/// Returns the end of the highest buffer that is fixed in the given memory.
fn fixed_end(buffers: &[MemoryBuffer], memory: usize) -> u64 {
    let own = buffers.iter().filter(|one| one.choices() == [memory]);
    own.filter_map(|one| Some(one.buffer.offset? + one.buffer.size)).max().unwrap_or(0)
}
