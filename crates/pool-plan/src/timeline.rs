//! The interval problem as the solvers see it: time cut into sections, sizes in granules.
//!
//! A section stands for a time at which a set of buffers is live that no neighbouring time's set
//! contains. Two buffers are live together exactly if they have a section in common.

use crate::interval::IntervalProblem;
use crate::item::Item;

/// Buffers with the sections in which they are live.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    /// The items that are to be placed.
    pub(crate) items: Vec<Item>,
    /// How many sections there are.
    pub(crate) sections: usize,
    /// Spans of sections, grouped by item.
    spans: Vec<(usize, usize)>,
    /// For each item, the index of its first span.
    starts: Vec<usize>,
    /// How much time passes while each item is live.
    pub(crate) durations: Vec<u64>,
    /// Whether items are live from their lower to their upper time and none has a fixed offset.
    is_plain: bool,
}

impl Timeline {
    /// The sections of a problem.
    pub(crate) fn new(problem: &IntervalProblem) -> Self {
        let buffers = problem.buffers();
        let items = buffers
            .iter()
            .map(|one| Item { size: one.size, alignment: one.alignment, fixed: one.offset })
            .collect();
        let mut starts = vec![0];
        let mut events = Vec::with_capacity(buffers.len() * 2);
        let mut durations = Vec::with_capacity(buffers.len());
        let mut count = 0;
        for buffer in buffers {
            let mut duration = 0_u64;
            for (lower, upper) in buffer.live_spans() {
                events.push((lower, true, count));
                events.push((upper, false, count));
                duration = duration.saturating_add(upper.abs_diff(lower));
                count += 1;
            }
            starts.push(count);
            durations.push(duration);
        }
        // At one time, ends come before beginnings.
        events.sort_unstable();
        let mut spans = vec![(0, 0); count];
        let (mut section, mut ended) = (0, false);
        for (_, begins, span) in events {
            if begins {
                section += usize::from(ended);
                ended = false;
                spans[span].0 = section;
            } else {
                ended = true;
                spans[span].1 = section + 1;
            }
        }
        let is_plain = buffers.iter().all(|one| one.gaps.is_empty() && one.offset.is_none());
        Self { items, sections: section + 1, spans, starts, durations, is_plain }
    }

    /// Whether items are live from their lower to their upper time and none has a fixed offset. A gap at either
    /// end leaves an item one span, which does not begin when the item does.
    pub(crate) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// For each item, how many live spans of other items meet its live spans.
    pub(crate) fn degrees(&self) -> Vec<u64> {
        let mut begun = vec![0_u64; self.sections + 1];
        let mut ended = vec![0_u64; self.sections + 1];
        for &(lower, upper) in &self.spans {
            begun[lower + 1] += 1;
            ended[upper] += 1;
        }
        for section in 0..self.sections {
            begun[section + 1] += begun[section];
            ended[section + 1] += ended[section];
        }
        // Spans that begin before the end of one, less those that end before it begins, and less itself.
        let met = |&(lower, upper): &(usize, usize)| begun[upper] - ended[lower] - 1;
        (0..self.items.len()).map(|item| self.spans(item).iter().map(met).sum()).collect()
    }

    /// The spans of sections in which an item is live, in order.
    pub(crate) fn spans(&self, item: usize) -> &[(usize, usize)] {
        &self.spans[self.starts[item]..self.starts[item + 1]]
    }
}
