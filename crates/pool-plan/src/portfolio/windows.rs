//! Exact searches of short windows of the timeline, for large problems. A search moves the items
//! whose whole lifetimes lie inside a window. Items that are also live outside the window keep
//! their offsets. A window takes as long as a small problem, and the rest of the plan remains the
//! same. The method is known as large neighborhood search (Shaw 1998).

use super::repairs::Quest;
use super::searched::{Searched, watched};
use super::stride::Stride;
use crate::greedy::Measures;
use crate::item::{self, Item};
use crate::search::{HEURISTICS, Instance, Ranker, Search, Steps};
use crate::work::{Limit, Work};

/// The number of items that start during the first window.
const FIRST_STARTED: usize = 64;
/// The number of windows that are searched for each item above the capacity. Each window is twice
/// as long as the previous one.
const WINDOWS: usize = 3;
/// The maximum number of items that start during a window, and the maximum number that are live.
const MOST_ITEMS: [usize; 2] = [1 << 10, 1 << 11];
/// The maximum number of conflicts in a window.
const MOST_CONFLICTS: usize = 1 << 18;
/// The number of times that a window is extended so that it contains the whole lifetimes of all
/// items above the capacity.
const EXTENSIONS: usize = 4;
/// The number of steps per item that each search of a window takes.
const STEPS_PER_ITEM: u64 = 8;
/// The number of items that a pass over all items reads in the time in which a search reads one
/// item or section.
const ITEMS_PER_READ: usize = 8;

/// A series of searches that lower the peak of an interval problem's plan, window by window.
pub(super) struct Windows<'a> {
    items: &'a [Item],
    measures: &'a Measures<'a>,
    stride: Stride,
    /// The number of items that start during the first window for each item.
    started: usize,
}

/// The items that are live during a range of time.
struct Window {
    lower: i64,
    upper: i64,
    members: Vec<u32>,
}

/// The limits that apply to a series of searches.
struct Allowance<'a> {
    work: Work,
    most: u64,
    limit: Limit<'a>,
    is_needed: &'a dyn Fn() -> bool,
}

impl Allowance<'_> {
    fn is_left(&self) -> bool {
        self.work.done() < self.most && (self.is_needed)()
    }
}

impl<'a> Windows<'a> {
    /// Creates a series of searches without starting it. The items must have no gaps and no fixed
    /// offsets.
    pub(super) fn new(items: &'a [Item], measures: &'a Measures<'a>) -> Self {
        Self { items, measures, stride: Stride::default(), started: FIRST_STARTED }
    }

    /// Returns the best plan that the searches find with the given amount of `work`. Returns `None`
    /// if this plan is no better than the one in `quest`.
    pub(super) fn run(
        &mut self,
        quest: Quest<'_>,
        work: u64,
        limit: Limit<'_>,
        is_needed: impl Fn() -> bool,
    ) -> Option<Vec<u64>> {
        let Quest { offsets, mut peak, goal, granule } = quest;
        let allowance =
            Allowance { work: Work::default(), most: work, limit, is_needed: &is_needed };
        let mut best: Option<Vec<u64>> = None;
        while peak > goal && allowance.is_left() {
            let stride = self.stride.bytes((peak, goal), granule);
            let capacity = peak.saturating_sub(stride).max(goal) / granule * granule;
            let mut offsets = best.as_deref().unwrap_or(offsets).to_vec();
            if self.lower(&mut offsets, capacity, &allowance) {
                peak = item::peak(self.items, &offsets);
                best = Some(offsets);
                self.stride = Stride::doubled(stride, (peak, goal));
            } else if allowance.is_left() {
                self.retreat(stride, granule);
            }
        }
        best
    }

    /// Prepares an attempt that is more likely to succeed: one with a capacity that is closer to
    /// the best peak. After a capacity just below the best peak, the windows become longer.
    fn retreat(&mut self, stride: u64, granule: u64) {
        if stride > granule {
            self.stride = Stride::shortened(stride);
            return;
        }
        self.stride = Stride::default();
        self.started = (self.started * 2).min(MOST_ITEMS[0]);
    }

    /// Moves items until none extends above the capacity. Returns `false` if an item remains above
    /// it.
    fn lower(&self, offsets: &mut [u64], capacity: u64, allowance: &Allowance<'_>) -> bool {
        allowance.work.count(self.items.len() / ITEMS_PER_READ);
        for place in 0..self.items.len() {
            let item = self.measures.by_begin[place] as usize;
            if offsets[item] + self.items[item].size <= capacity {
                continue;
            }
            let mut windows = (0..WINDOWS).map(|doublings| self.started << doublings);
            let is_lower = windows.any(|started| {
                allowance.is_left()
                    && self
                        .window(place, started, offsets, capacity, &allowance.work)
                        .is_some_and(|window| self.search(&window, offsets, capacity, allowance))
            });
            if !is_lower {
                return false;
            }
        }
        true
    }

    /// Returns a window around an item above the capacity. The window contains the whole lifetimes
    /// of all of its items above the capacity. Returns `None` if it would contain too many items.
    /// `place` is the item's position if the items are sorted by start.
    fn window(
        &self,
        place: usize,
        started: usize,
        offsets: &[u64],
        capacity: u64,
        work: &Work,
    ) -> Option<Window> {
        let Measures { begins, ends, by_begin, .. } = self.measures;
        let begin = |place: usize| begins[by_begin[place] as usize];
        let last = (place + started / 2).min(self.items.len() - 1);
        let mut lower = begin(place.saturating_sub(started / 2));
        let mut upper = begin(last).max(ends[by_begin[place] as usize]);
        for _ in 0..EXTENSIONS {
            let first = by_begin.partition_point(|&item| begins[item as usize] < lower);
            let end = by_begin.partition_point(|&item| begins[item as usize] < upper);
            work.count(first / ITEMS_PER_READ + (end - first));
            if end - first > MOST_ITEMS[0] {
                return None;
            }
            let earlier = by_begin[..first].iter().copied();
            let mut members: Vec<u32> =
                earlier.filter(|&item| ends[item as usize] > lower).collect();
            members.extend(&by_begin[first..end]);
            if members.len() > MOST_ITEMS[1] {
                return None;
            }
            let high = members.iter().map(|&item| item as usize);
            let high = high.filter(|&item| offsets[item] + self.items[item].size > capacity);
            let (mut least, mut most) = (lower, upper);
            high.for_each(|item| {
                (least, most) = (least.min(begins[item]), most.max(ends[item]));
            });
            if (least, most) == (lower, upper) {
                return Some(Window { lower, upper, members });
            }
            (lower, upper) = (least, most);
        }
        None
    }

    /// Searches for offsets within the capacity for the items of a window. Returns `true` if they
    /// were found.
    fn search(
        &self,
        window: &Window,
        offsets: &mut [u64],
        capacity: u64,
        allowance: &Allowance<'_>,
    ) -> bool {
        let &Window { lower, upper, ref members } = window;
        let lifetime = |&item: &u32| {
            let item = item as usize;
            (self.measures.begins[item].max(lower), self.measures.ends[item].min(upper))
        };
        let item = |&item: &u32| {
            let item = item as usize;
            let is_inside =
                self.measures.begins[item] >= lower && self.measures.ends[item] <= upper;
            Item { fixed: (!is_inside).then_some(offsets[item]), ..self.items[item] }
        };
        allowance.work.count(members.len());
        let lifetimes: Vec<(i64, i64)> = members.iter().map(lifetime).collect();
        let items: Vec<Item> = members.iter().map(item).collect();
        let is_needed = allowance.is_needed;
        let instance = Instance::of_lifetimes(&items, &lifetimes, MOST_CONFLICTS, is_needed);
        let Some(instance) = instance else { return false };
        allowance.work.count(instance.conflicts.len());
        let ranker = Ranker::new(&instance);
        let steps = STEPS_PER_ITEM * members.len() as u64;
        for heuristic in 0..HEURISTICS.len() {
            let mut search = Search::new(&instance, capacity, ranker.lasting(heuristic));
            let left = allowance.most.saturating_sub(allowance.work.done());
            let found = watched(&mut search, (steps, left), allowance.limit, allowance.is_needed);
            allowance.work.count(usize::try_from(search.work()).unwrap_or(usize::MAX));
            match found {
                Searched::Plan(found) => {
                    for (&item, offset) in members.iter().zip(found) {
                        offsets[item as usize] = offset;
                    }
                    return true;
                }
                Searched::None { .. } => return false,
                Searched::Failures(_) => {}
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Monitor;

    /// A long-lived item lies below 400 groups of four items. Two groups float above a gap.
    #[test]
    fn windows_lower_the_peak_and_leave_the_rest() {
        let groups = (0..400).flat_map(|group| (1..=4).map(move |size| (group * 10, size)));
        let lifetimes: Vec<(i64, i64)> = std::iter::once((0, 4_000))
            .chain(groups.clone().map(|(begin, _)| (begin, begin + 5)))
            .collect();
        let sizes: Vec<u64> = std::iter::once(2).chain(groups.clone().map(|one| one.1)).collect();
        let gap = |begin| if begin == 70 || begin == 3_000 { 3 } else { 0 };
        let above = groups.map(|(begin, size)| 2 + gap(begin) + size * (size - 1) / 2);
        let offsets: Vec<u64> = std::iter::once(0).chain(above).collect();
        let items: Vec<Item> =
            sizes.iter().map(|&size| Item { size, alignment: 1, fixed: None }).collect();
        let measures = Measures {
            sizes,
            durations: lifetimes.iter().map(|one| one.1.abs_diff(one.0)).collect(),
            by_begin: crate::adjacency::indices(items.len()).collect(),
            begins: lifetimes.iter().map(|one| one.0).collect(),
            ends: lifetimes.iter().map(|one| one.1).collect(),
            degrees: vec![0; items.len()],
            breadth: &|_| None,
            named: None,
            has_rough_plan: false,
            last: &[],
        };
        let monitor = Monitor::new();
        let limit = Limit { deadline: None, monitor: &monitor };
        let quest = Quest { offsets: &offsets, peak: 15, goal: 12, granule: 1 };
        let mut windows = Windows::new(&items, &measures);
        let found = windows.run(quest, 1 << 20, limit, || true).unwrap();

        assert_eq!(item::peak(&items, &found), 12);
        assert_eq!(found[0], 0, "the long-lived item stays in place");
        assert_eq!(found[400..1_000], offsets[400..1_000], "no window is there");
        for (number, group) in found[1..].chunks(4).enumerate() {
            let mut spans: Vec<(u64, u64)> = group.iter().copied().zip(1..).collect();
            spans.sort_unstable();
            spans.insert(0, (0, 2));
            let is_apart = |pair: &[(u64, u64)]| pair[0].0 + pair[0].1 <= pair[1].0;
            assert!(spans.windows(2).all(is_apart), "group {number}: {spans:?}");
        }
        let quest = Quest { offsets: &found, peak: 12, goal: 0, granule: 1 };
        assert_eq!(windows.run(quest, 1 << 20, limit, || true), None, "12 is the optimum");
    }
}
