//! Searches that aim below the best peak. If the goal is unreachable, such as a bound without the
//! padding that alignment requires, only these searches can succeed.

use super::searched::{Searched, watched};
use super::stride::Stride;
use crate::item;
use crate::search::{HEURISTICS, Instance, Ranker, Ranks, Search, Steps};
use crate::work::Limit;

/// The number of steps per item that each search takes before the next one continues. The number
/// doubles after each pass over the searches. `MiniMalloc` uses the same schedule.
const STEPS_PER_ITEM: u64 = 2;

/// The capacities between which a descent searches for a plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aim {
    /// The lowest capacity that is needed.
    pub(super) goal: u64,
    /// The best plan's peak.
    pub(super) peak: u64,
    /// A number of bytes that divides all peaks.
    pub(super) granule: u64,
}

/// A series of searches below the best peak. Each plan lowers the peak, and the next searches aim
/// below it. The searches for one capacity take turns, one for each heuristic.
#[derive(Debug)]
pub(super) struct Descent<'a> {
    instance: &'a Instance,
    orders: [Option<Ranks>; HEURISTICS.len()],
    searches: [Option<Search<'a>>; HEURISTICS.len()],
    /// The capacity of the searches.
    capacity: u64,
    stride: Stride,
    /// The total number of steps that each search may take before the next one continues.
    patience: u64,
    /// The first heuristic, which was the last to succeed.
    first: usize,
    /// The number of searches that have taken `patience` steps.
    tried: usize,
    /// The highest capacity for which a search proved that no plan exists.
    proved: u64,
}

impl<'a> Descent<'a> {
    /// Creates a descent without starting it.
    pub(super) fn new(instance: &'a Instance) -> Self {
        Self {
            instance,
            orders: Default::default(),
            searches: Default::default(),
            capacity: 0,
            stride: Stride::default(),
            patience: 0,
            first: 0,
            tried: 0,
            proved: 0,
        }
    }

    /// Continues the descent for a given amount of work. Returns the best plan, or the result of
    /// the last search if there is no plan.
    // Uncounted: the loop needs no counter because each search checks the clock.
    pub(super) fn run(
        &mut self,
        ranker: &Ranker<'_>,
        Aim { goal, mut peak, granule }: Aim,
        work: u64,
        limit: Limit<'_>,
        is_needed: impl Fn() -> bool,
    ) -> Option<Searched> {
        let (mut best, mut last, mut done) = (None, None, 0);
        while done < work && peak > goal && is_needed() {
            let stride = self.stride.bytes((peak, goal), granule);
            let capacity = peak.saturating_sub(stride).max(goal).max(self.proved + 1);
            let capacity = if capacity > peak - granule { peak - granule } else { capacity };
            if capacity <= self.proved {
                last = Some(Searched::None { within: self.proved });
                break;
            }
            self.aim(capacity);
            let task = (self.first + self.tried) % HEURISTICS.len();
            let search = self.searches[task].get_or_insert_with(|| {
                let order = self.orders[task].get_or_insert_with(|| ranker.lasting(task));
                Search::new(self.instance, capacity, order.clone())
            });
            let before = search.work();
            let steps = self.patience.saturating_sub(search.steps());
            let found = watched(search, (steps, work - done), limit, &is_needed);
            done += search.work() - before + 1;
            match found {
                Searched::Plan(offsets) => {
                    // The plan's peak may be below the capacity, and even below the goal.
                    peak = item::peak(&self.instance.items, &offsets);
                    self.stride = Stride::doubled(stride, (peak, goal));
                    self.first = task;
                    best = Some(offsets);
                }
                Searched::None { within } => {
                    self.proved = within;
                    last = Some(found);
                    break;
                }
                Searched::Failures(_) => {
                    if done < work {
                        self.lose_patience(stride, granule);
                    }
                    last = Some(found);
                }
            }
        }
        best.map(Searched::Plan).or(last)
    }

    /// Discards the searches if they have another capacity.
    fn aim(&mut self, capacity: u64) {
        if self.capacity == capacity {
            return;
        }
        self.capacity = capacity;
        self.searches = Default::default();
        self.patience = STEPS_PER_ITEM * self.instance.items.len() as u64;
        self.tried = 0;
    }

    /// Continues with the next search. After the last search, the next capacity is closer to the
    /// best peak. If the capacity is just below the best peak, the searches receive more steps.
    fn lose_patience(&mut self, stride: u64, granule: u64) {
        self.tried += 1;
        if self.tried < HEURISTICS.len() {
            return;
        }
        self.tried = 0;
        if stride == granule {
            self.patience *= 2;
        } else {
            self.stride = Stride::shortened(stride);
        }
    }
}
