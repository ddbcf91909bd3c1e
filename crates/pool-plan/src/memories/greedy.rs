//! Joint greedy placement. Buffers are placed in a given order, each in the lowest free range of
//! one of the memories.

use crate::memory::Placement;
use crate::work::Watch;

use super::instance::Instance;
use super::packing::Standing;

/// The maximum number of buffers for which greedy placement is used. The running time of greedy
/// placement is quadratic in the number of buffers.
pub(super) const MOST_BUFFERS: usize = 4_096;

/// The order in which the buffers are placed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// The largest buffer comes first.
    Size,
    /// The buffer with the largest product of size and lifetime comes first.
    Area,
    /// The buffer with the longest lifetime comes first.
    Lifetime,
    /// The buffer that starts first comes first.
    Start,
    /// The buffer that ends last comes first.
    End,
    /// The buffer with the most traffic per byte comes first.
    Traffic,
    /// The buffer with the most traffic per byte and unit of time comes first.
    Density,
}

/// The rule that selects one of the memories with enough room.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    /// Selects the first memory in the problem.
    First,
    /// Selects the memory with the lowest cost per byte, including the cost of traffic.
    Cheapest,
    /// Selects the memory for which the plan's cost increases the least. If several memories are
    /// equally good, the rule selects the first one.
    Least,
    /// Selects the memory for which the plan's cost increases the least. If several memories are
    /// equally good, the rule selects the one in which the buffer ends at the lowest offset.
    Lowest,
}

/// All orders.
pub(super) const ORDERS: [Order; 7] = [
    Order::Size,
    Order::Area,
    Order::Lifetime,
    Order::Start,
    Order::End,
    Order::Traffic,
    Order::Density,
];
/// All rules.
pub(super) const RULES: [Rule; 4] = [Rule::First, Rule::Cheapest, Rule::Least, Rule::Lowest];

/// Returns the buffers in the given order. Ties are broken by the buffers' starts, then by their
/// positions in the problem.
pub(super) fn ordered(instance: &Instance<'_>, order: Order) -> Vec<usize> {
    let key = |buffer: usize| {
        let one = &instance.problem.buffers()[buffer];
        let time: u128 =
            one.buffer.live_spans().map(|(lower, upper)| u128::from(upper.abs_diff(lower))).sum();
        let size = u128::from(one.buffer.size);
        // The buffer with the smallest key comes first.
        let key = match order {
            Order::Size => u128::MAX - size,
            Order::Area => u128::MAX - size * time,
            Order::Lifetime => u128::MAX - time,
            Order::Start => 0,
            Order::End => u128::from(i64::MAX.abs_diff(one.buffer.upper)),
            Order::Traffic => u128::MAX - (u128::from(one.traffic) << 60) / size.max(1),
            // A size has at most 63 bits, and a lifetime has at most 64 bits.
            Order::Density => u128::MAX - (u128::from(one.traffic) << 60) / (size * time).max(1),
        };
        (one.buffer.offset.is_none(), key, one.buffer.lower, buffer)
    };
    let mut order: Vec<usize> = (0..instance.len()).collect();
    order.sort_by_cached_key(|&buffer| key(buffer));
    order
}

/// Places the buffers with fixed offsets, then all other buffers in the given order. Returns `None`
/// if there is no room for a buffer, or if `watch` stops the computation.
pub(super) fn place(
    instance: &Instance<'_>,
    order: &[usize],
    rule: Rule,
    watch: &Watch<'_>,
) -> Option<Standing> {
    let memories = instance.memories();
    let mut placements = vec![Placement { memory: 0, offset: 0 }; instance.len()];
    // For each memory, the start, end, and index of each placed buffer, sorted by start.
    let mut placed: Vec<Vec<(u64, u64, usize)>> = vec![Vec::new(); memories.len()];
    let mut peaks = vec![0_u64; memories.len()];
    let is_fixed = |&buffer: &usize| instance.problem.buffers()[buffer].buffer.offset.is_some();
    let fixed = order.iter().copied().filter(is_fixed);
    for buffer in fixed.chain(order.iter().copied().filter(|buffer| !is_fixed(buffer))) {
        let size = instance.size(buffer);
        let mut best: Option<((u128, u64, usize), Placement)> = None;
        for &memory in instance.choices(buffer) {
            if !watch.count(placed[memory].len() + 1) {
                return None;
            }
            let offset = free_offset(instance, buffer, &placed[memory]);
            let end = offset + size;
            if memories[memory].capacity.is_some_and(|capacity| end > capacity) {
                continue;
            }
            let one = &memories[memory];
            let rank = match rule {
                Rule::First => memory as u128,
                Rule::Cheapest => u128::from(one.cost) + u128::from(one.traffic_cost),
                Rule::Least | Rule::Lowest => {
                    let grown = end.max(peaks[memory]) - peaks[memory];
                    u128::from(one.cost * grown + instance.traffic(buffer, memory))
                }
            };
            let end = if matches!(rule, Rule::Lowest) { end } else { 0 };
            let key = (rank, end, memory);
            if best.as_ref().is_none_or(|(least, _)| key < *least) {
                best = Some((key, Placement { memory, offset }));
            }
        }
        let (_, at) = best?;
        let end = at.offset + size;
        let own = &mut placed[at.memory];
        let place = own.partition_point(|one| one.0 < at.offset);
        own.insert(place, (at.offset, end, buffer));
        peaks[at.memory] = peaks[at.memory].max(end);
        placements[buffer] = at;
    }
    Some(instance.standing(placements, peaks))
}

/// Returns the lowest offset at which a buffer shares no bytes with any conflicting placed buffer.
fn free_offset(instance: &Instance<'_>, buffer: usize, placed: &[(u64, u64, usize)]) -> u64 {
    let one = &instance.problem.buffers()[buffer].buffer;
    if let Some(offset) = one.offset {
        return offset;
    }
    let mut offset = 0_u64;
    for &(start, end, other) in placed {
        if end > offset && instance.conflict(buffer, other) {
            if start >= offset + one.size {
                break;
            }
            offset = end.next_multiple_of(one.alignment);
        }
    }
    offset
}
