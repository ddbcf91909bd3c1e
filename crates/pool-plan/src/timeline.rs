//! The interval problem in the form required by the solvers, with time divided into sections.
//!
//! A section represents a time at which the set of live buffers is not a subset of the set at any
//! neighboring time. Two buffers are live at the same time if and only if they share a section.

use std::ops::Range;

use crate::adjacency::{index, indices};
use crate::interval::IntervalProblem;
use crate::item::Item;
use crate::sorting::{sort_by_number, unsigned};
use crate::work::Watch;

/// Buffers, and the sections in which they are live.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    /// The items to be placed.
    pub(crate) items: Vec<Item>,
    /// The number of sections.
    pub(crate) sections: usize,
    /// The spans of sections in which the items are live, grouped by item.
    spans: Vec<(u32, u32)>,
    /// For each item, the index of the item's first span.
    starts: Vec<u32>,
    /// For each item, the total time during which it is live.
    pub(crate) durations: Vec<u64>,
    /// `true` if no item has a gap or a fixed offset.
    is_plain: bool,
}

impl Timeline {
    /// Divides a problem's time into sections.
    // Uncounted: the loop needs no counter because the function makes only a few passes over the
    // buffers. This function runs before the planner computes its first plan.
    pub(crate) fn new(problem: &IntervalProblem) -> Self {
        let buffers = problem.buffers();
        let items = buffers
            .iter()
            .map(|one| Item { size: one.size, alignment: one.alignment, fixed: one.offset })
            .collect();
        let mut starts = Vec::with_capacity(buffers.len() + 1);
        let mut durations = Vec::with_capacity(buffers.len());
        let (mut lowers, mut uppers) = (Vec::new(), Vec::new());
        starts.push(0);
        for buffer in buffers {
            let mut duration = 0_u64;
            for (lower, upper) in buffer.live_spans() {
                lowers.push(unsigned(lower));
                uppers.push(unsigned(upper));
                duration = duration.saturating_add(upper.abs_diff(lower));
            }
            starts.push(index(lowers.len()));
            durations.push(duration);
        }
        let (spans, sections) = sections(&lowers, &uppers);
        let is_plain = buffers.iter().all(|one| one.gaps.is_empty() && one.offset.is_none());
        Self { items, sections, spans, starts, durations, is_plain }
    }

    /// Creates a timeline in which each item has a single lifetime.
    // Uncounted: the loop needs no counter because the function makes only a few passes over at
    // most 92,672 buffers.
    pub(crate) fn of_lifetimes(items: &[Item], lifetimes: &[(i64, i64)]) -> Self {
        let lowers: Vec<u64> = lifetimes.iter().map(|lifetime| unsigned(lifetime.0)).collect();
        let uppers: Vec<u64> = lifetimes.iter().map(|lifetime| unsigned(lifetime.1)).collect();
        let (spans, sections) = sections(&lowers, &uppers);
        let starts = indices(items.len() + 1).collect();
        let durations = lifetimes.iter().map(|lifetime| lifetime.1.abs_diff(lifetime.0)).collect();
        Self { items: items.to_vec(), sections, spans, starts, durations, is_plain: true }
    }

    /// Returns `true` if no item has a gap or a fixed offset. An item whose gap lies at either end
    /// of its lifetime may also have a single span, but that span is shorter than the lifetime.
    pub(crate) fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Returns, for each item, the number of other items' live spans that overlap its own live
    /// spans.
    // Uncounted: the loop needs no counter because the function makes only a few passes over the
    // spans. This function runs before the planner computes its first plan.
    pub(crate) fn degrees(&self) -> Vec<u64> {
        let mut begun = vec![0_u64; self.sections + 1];
        let mut ended = vec![0_u64; self.sections + 1];
        for &(lower, upper) in &self.spans {
            begun[lower as usize + 1] += 1;
            ended[upper as usize] += 1;
        }
        for section in 0..self.sections {
            begun[section + 1] += begun[section];
            ended[section + 1] += ended[section];
        }
        // The number of spans that overlap the given span is the number that begin before it ends,
        // minus the number that end before it begins. One more is subtracted because the count
        // includes the span itself.
        let met = |&(lower, upper): &(u32, u32)| begun[upper as usize] - ended[lower as usize] - 1;
        (0..self.items.len()).map(|item| self.spans(item).iter().map(met).sum()).collect()
    }

    /// Returns, for each section, the total weight of the items that are live in that section.
    // Uncounted: the loop needs no counter because the function makes only one pass over the spans.
    // A pass takes 10 milliseconds for a million spans.
    pub(crate) fn totals(&self, weights: &[u64]) -> Vec<u64> {
        let mut totals = vec![0_u64; self.sections + 1];
        for (item, &weight) in weights.iter().enumerate() {
            for &(lower, upper) in self.spans(item) {
                totals[lower as usize] = totals[lower as usize].wrapping_add(weight);
                totals[upper as usize] = totals[upper as usize].wrapping_sub(weight);
            }
        }
        totals.pop();
        let mut sum = 0_u64;
        for total in &mut totals {
            sum = sum.wrapping_add(*total);
            *total = sum;
        }
        totals
    }

    /// Returns, for each item, the lowest rank of any section in which the item is live. The
    /// section with the most live bytes has rank 0. Items without spans are ranked last. Returns
    /// `None` if `watch` stops the computation.
    pub(crate) fn breadth(&self, watch: &Watch<'_>) -> Option<Vec<u32>> {
        let sizes: Vec<u64> = self.items.iter().map(|item| item.size).collect();
        let totals = self.totals(&sizes);
        let mut order: Vec<u32> = indices(self.sections).collect();
        if !sort_by_number(&mut order, |section| !totals[section as usize], watch) {
            return None;
        }
        // A segment tree of the lowest ranks, whose root is at index 1.
        let mut least = vec![0; 2 * self.sections];
        for (rank, section) in indices(self.sections).zip(order) {
            least[self.sections + section as usize] = rank;
        }
        for vertex in (1..self.sections).rev() {
            least[vertex] = least[2 * vertex].min(least[2 * vertex + 1]);
        }
        let mut ranks = vec![u32::MAX; self.items.len()];
        for (item, rank) in ranks.iter_mut().enumerate() {
            for &(lower, upper) in self.spans(item) {
                let mut left = lower as usize + self.sections;
                let mut right = upper as usize + self.sections;
                while left < right {
                    if left & 1 == 1 {
                        *rank = least[left].min(*rank);
                        left += 1;
                    }
                    if right & 1 == 1 {
                        right -= 1;
                        *rank = least[right].min(*rank);
                    }
                    left /= 2;
                    right /= 2;
                }
                if !watch.count(8) {
                    return None;
                }
            }
        }
        Some(ranks)
    }

    /// Returns the items that are live in a section.
    // Uncounted: the loop needs no counter because the function makes only one pass over the spans.
    // This function runs before the planner computes its first plan.
    pub(crate) fn live_at(&self, section: usize) -> impl Iterator<Item = usize> + '_ {
        let is_live = move |&(lower, upper): &(u32, u32)| {
            lower as usize <= section && section < upper as usize
        };
        (0..self.items.len()).filter(move |&item| self.spans(item).iter().any(is_live))
    }

    /// Returns the spans of sections in which an item is live, in ascending order.
    pub(crate) fn spans(&self, item: usize) -> &[(u32, u32)] {
        &self.spans[self.span_range(item)]
    }

    /// Returns the indices of an item's spans in the list of all spans.
    pub(crate) fn span_range(&self, item: usize) -> Range<usize> {
        self.starts[item] as usize..self.starts[item + 1] as usize
    }

    /// Returns the total number of spans of all items.
    pub(crate) fn span_count(&self) -> usize {
        self.spans.len()
    }
}

/// Converts time spans to spans of sections, and returns them together with the number of sections.
fn sections(lowers: &[u64], uppers: &[u64]) -> (Vec<(u32, u32)>, usize) {
    // The conversion must not be interrupted, because there is no earlier plan to return instead.
    let watch = Watch::new(&|| true);
    let in_order = |times: &[u64]| {
        let mut order: Vec<u32> = indices(times.len()).collect();
        sort_by_number(&mut order, |span| times[span as usize], &watch);
        order
    };
    let (begins, ends) = (in_order(lowers), in_order(uppers));
    let mut ends = ends.into_iter().peekable();
    let mut spans = vec![(0, 0); lowers.len()];
    let mut section = 0;
    for begin in begins {
        let now = lowers[begin as usize];
        let mut ended = false;
        // If one span ends when another begins, the end is processed before the beginning.
        while let Some(end) = ends.next_if(|&end| uppers[end as usize] <= now) {
            spans[end as usize].1 = section + 1;
            ended = true;
        }
        section += u32::from(ended);
        spans[begin as usize].0 = section;
    }
    ends.for_each(|end| spans[end as usize].1 = section + 1);
    (spans, section as usize + 1)
}
