//! The textbook heuristics, written again in the simplest way: they share nothing with the library.

use pool_plan::{Buffer, GreedyFit, GreedyHeuristic, GreedyOrder, IntervalProblem};

/// The tie-break between buffers at the same place of an order that start together.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Last {
    Place,
    Name,
}

/// The heuristics' form of a problem.
pub(crate) struct Naive<'a> {
    buffers: &'a [Buffer],
    /// For each buffer, the number of live spans of others that meet its own.
    meetings: Vec<usize>,
    /// For each buffer, the rank of its first live time in the list of times, broadest first.
    breadths: Vec<usize>,
}

impl<'a> Naive<'a> {
    /// A problem.
    pub(crate) fn new(problem: &'a IntervalProblem) -> Self {
        let buffers = problem.buffers();
        let meetings = |one: &Buffer| {
            let others = buffers.iter().filter(|&other| !std::ptr::eq(one, other));
            let spans = others.flat_map(Buffer::live_spans);
            spans.map(|span| one.live_spans().filter(|&own| overlap(own, span)).count()).sum()
        };
        let meetings = buffers.iter().map(meetings).collect();
        Self { buffers, meetings, breadths: breadths(buffers) }
    }

    /// The sort keys of an order, smallest first.
    fn key(&self, order: GreedyOrder, index: usize) -> (i128, u64) {
        let buffer = &self.buffers[index];
        let lifetime: i128 = buffer.live_spans().map(|(from, to)| i128::from(to - from)).sum();
        let key = match order {
            GreedyOrder::Size => -i128::from(buffer.size),
            GreedyOrder::Area => -i128::from(buffer.size) * lifetime,
            GreedyOrder::Lifetime => -lifetime,
            GreedyOrder::Start => buffer.lower.into(),
            GreedyOrder::Conflicts => -(self.meetings[index] as i128),
            GreedyOrder::End => -i128::from(buffer.upper),
            GreedyOrder::Breadth => self.breadths[index] as i128,
        };
        (key, if order == GreedyOrder::Breadth { u64::MAX - buffer.size } else { 0 })
    }

    /// Returns the peak of a heuristic's plan.
    pub(crate) fn peak(&self, heuristic: GreedyHeuristic, last: Last) -> u64 {
        let mut order: Vec<usize> = (0..self.buffers.len()).collect();
        order.sort_by_key(|&index| {
            let buffer = &self.buffers[index];
            let name = matches!(last, Last::Name).then_some(&buffer.id);
            (self.key(heuristic.order, index), buffer.lower, name, index)
        });
        // (offset, buffer) of the placed buffers, in order of offsets.
        let mut placed: Vec<(u64, &Buffer)> = Vec::new();
        for index in order {
            let buffer = &self.buffers[index];
            let offset = offset(buffer, &placed, heuristic.fit);
            let place = placed.partition_point(|one| one.0 < offset);
            placed.insert(place, (offset, buffer));
        }
        placed.iter().map(|(offset, buffer)| offset + buffer.size).max().unwrap_or(0)
    }
}

/// Returns, for each buffer, the rank of its first live time in the list of times, broadest first.
fn breadths(buffers: &[Buffer]) -> Vec<usize> {
    let is_live = |buffer: &Buffer, time: i64| {
        buffer.live_spans().any(|(from, to)| from <= time && time < to)
    };
    let mut times: Vec<i64> =
        buffers.iter().flat_map(|buffer| buffer.live_spans().map(|span| span.0)).collect();
    times.sort_unstable();
    times.dedup();
    times.sort_by_key(|&time| {
        let live = buffers.iter().filter(|buffer| is_live(buffer, time));
        std::cmp::Reverse(live.map(|buffer| buffer.size).sum::<u64>())
    });
    let first = |buffer| times.iter().position(|&time| is_live(buffer, time)).unwrap_or(0);
    buffers.iter().map(first).collect()
}

fn overlap(one: (i64, i64), other: (i64, i64)) -> bool {
    one.0 < other.1 && other.0 < one.1
}

fn conflict(one: &Buffer, other: &Buffer) -> bool {
    one.live_spans().any(|own| other.live_spans().any(|span| overlap(own, span)))
}

/// Returns the offset of a buffer among those placed, which are in order of offsets.
fn offset(buffer: &Buffer, placed: &[(u64, &Buffer)], fit: GreedyFit) -> u64 {
    let mut ranges = Vec::new();
    let mut end = 0;
    for &(start, other) in placed {
        if conflict(buffer, other) {
            if start > end {
                ranges.push((start - end, end, start));
            }
            end = end.max(start + other.size);
        }
    }
    let aligned = |start: u64| start.div_ceil(buffer.alignment) * buffer.alignment;
    ranges.retain(|&(_, start, end)| aligned(start) + buffer.size <= end);
    let range = match fit {
        GreedyFit::First => ranges.first(),
        GreedyFit::Best => ranges.iter().min_by_key(|range| (range.0, range.1)),
    };
    aligned(range.map_or(end, |range| range.1))
}
