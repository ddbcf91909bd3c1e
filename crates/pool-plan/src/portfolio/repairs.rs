//! Repairs that continue from one round to the next. This module decides which capacity a repair
//! aims for and when the repair restarts.

use super::repair::{Conflicted, Dearness, Repair};
use crate::item::peak;
use crate::random::Random;
use crate::search::Neighbours;

/// The number of conflicts that a repair examines before it checks the clock again. A repair runs
/// for about one millisecond between two consecutive checks.
const WORK_UNWATCHED: u64 = 1 << 16;
/// The amount of work per item that a repair spends on one capacity before it aims for another one.
const WORK_PER_ITEM: u64 = 1 << 9;
/// The minimum amount of work that a repair spends on one capacity before it aims for another one.
const LEAST_PATIENCE: u64 = 1 << 18;
/// One series of repairs continues if another task has lowered the peak by less than this fraction
/// of it.
const SLIGHTLY: u64 = 16;
/// The maximum number of times that the distance between the goal and the best peak is halved. After
/// one more, the capacity is just below the best peak, which is the easiest to reach. If the goal
/// is unreachable, such as a bound without the padding that alignment requires, a lower peak may be
/// closer to the best one than any halving.
pub(super) const MOST_HALVINGS: u32 = 6;

/// Returns a capacity between the goal and a peak. Each halving moves the capacity closer to the
/// peak.
pub(super) fn capacity_below(peak: u64, goal: u64, granule: u64, halvings: u32) -> u64 {
    let below = peak.saturating_sub(granule);
    let distance = below.saturating_sub(goal);
    let distance = if halvings > MOST_HALVINGS { 0 } else { distance >> halvings };
    (below - distance) / granule * granule
}

/// A series of repairs that use the same cost measure.
#[derive(Debug)]
pub(super) struct Repairs<'a> {
    problem: Conflicted<'a>,
    dearness: Dearness,
    random: Random,
    repair: Option<Repair<'a>>,
    /// The peak of the plan from which the current repair starts.
    start: u64,
    /// The number of times that the distance between the goal and the best peak is halved to obtain
    /// the repair's capacity.
    halvings: u32,
    /// The amount of work spent on the current capacity.
    spent: u64,
}

/// The best plan so far, in the form that a repair requires, and the repair's goal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quest<'a> {
    pub(super) offsets: &'a [u64],
    pub(super) peak: u64,
    /// The capacity that the repair must eventually reach.
    pub(super) goal: u64,
    /// A number of bytes that divides all offsets and peaks.
    pub(super) granule: u64,
}

impl<'a> Repairs<'a> {
    /// Creates a series of repairs without starting it.
    pub(super) fn new(problem: Conflicted<'a>, dearness: Dearness, random: Random) -> Self {
        Self { problem, dearness, random, repair: None, start: 0, halvings: 1, spent: 0 }
    }

    /// Uses another source of the same conflicts from now on.
    pub(super) fn use_neighbours(&mut self, neighbours: Neighbours<'a>) {
        self.problem.neighbours = neighbours;
        if let Some(repair) = &mut self.repair {
            repair.use_neighbours(neighbours);
        }
    }

    /// Returns the best plan that the repairs find with the given amount of `work`. Returns `None`
    /// if this plan is no better than the one in `quest`.
    pub(super) fn run(
        &mut self,
        quest: Quest<'_>,
        work: u64,
        is_needed: impl Fn() -> bool,
    ) -> Option<Vec<u64>> {
        let (mut best, mut reached, mut done) = (None, quest.peak, 0);
        if self.start != quest.peak {
            // Another task has found a better plan. If it is only slightly better, the work of the
            // one series is worth more than that plan, and the other series starts from the plan.
            let gain = self.start.saturating_sub(quest.peak);
            let is_slight = gain > 0 && gain < self.start / SLIGHTLY;
            if !is_slight || matches!(self.dearness, Dearness::Side) {
                self.repair = None;
            }
            // A capacity that is still below the best peak remains useful.
            let is_useful = self.repair.as_ref().is_some_and(|one| one.capacity() < quest.peak);
            if !is_useful {
                self.spent = 0;
            }
        }
        while done < work && reached > quest.goal && is_needed() {
            let random = &mut self.random;
            let repair = self.repair.get_or_insert_with(|| {
                let random = Random::new(random.next(), 0, 0);
                Repair::new(self.problem, self.dearness, quest.offsets.to_vec(), random)
            });
            let before = repair.work();
            if self.spent == 0 {
                repair.aim(capacity_below(reached, quest.goal, quest.granule, self.halvings));
            }
            let is_whole = repair.run(repair.work() + WORK_UNWATCHED);
            let worked = repair.work() - before;
            done += worked;
            self.spent += worked;
            if is_whole {
                reached = peak(self.problem.items, repair.offsets());
                best = Some(repair.offsets().to_vec());
                self.halvings = (self.halvings - 1).max(1);
                self.spent = 0;
            } else if self.spent > patience(self.problem.items.len(), self.halvings) {
                self.halvings = self.halvings % (MOST_HALVINGS + 1) + 1;
                self.spent = 0;
            }
        }
        self.start = reached;
        best
    }
}

/// Returns the amount of work to spend on a capacity. A repair spends less work on capacities near
/// the goal, so that it soon tries easier ones.
fn patience(count: usize, halvings: u32) -> u64 {
    (count as u64 * WORK_PER_ITEM).max(LEAST_PATIENCE) << (halvings - 1)
}
