//! A repair that continues from round to round: the capacity it aims at, and the time at which it
//! restarts.

use super::repair::{Conflicted, Dearness, Repair};
use crate::item::peak;
use crate::random::Random;

/// The number of conflicts checked between two checks of the clock: about a millisecond.
const WORK_UNWATCHED: u64 = 1 << 16;
/// The work for each item of the problem after which an unsuccessful aim is changed.
const WORK_PER_ITEM: u64 = 1 << 9;
/// The minimum work after which an unsuccessful aim is changed.
const LEAST_PATIENCE: u64 = 1 << 18;
/// The halvings of the distance between the goal and the best plan at the easiest aim.
const EASIEST: u32 = 6;

/// Consecutive repairs of one kind.
#[derive(Debug)]
pub(super) struct Repairs<'a> {
    problem: Conflicted<'a>,
    dearness: Dearness,
    random: Random,
    repair: Option<Repair<'a>>,
    /// The peak of the plan from which the repair started.
    start: u64,
    /// The halvings between the goal and the best plan that give the aim.
    halvings: u32,
    /// Work that was done for the aim.
    spent: u64,
}

/// The best plan so far, as a repair needs it, and the goal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quest<'a> {
    pub(super) offsets: &'a [u64],
    pub(super) peak: u64,
    /// The capacity at which to stop.
    pub(super) goal: u64,
    /// The granule of offsets and peaks, in bytes.
    pub(super) granule: u64,
}

impl Quest<'_> {
    /// Returns a capacity between the goal and a peak, nearer to the peak for each halving.
    fn aim(&self, peak: u64, halvings: u32) -> u64 {
        let below = peak.saturating_sub(self.granule);
        let distance = below.saturating_sub(self.goal) >> halvings;
        (below - distance) / self.granule * self.granule
    }
}

impl<'a> Repairs<'a> {
    /// Makes repairs that have not begun.
    pub(super) fn new(problem: Conflicted<'a>, dearness: Dearness, random: Random) -> Self {
        Self { problem, dearness, random, repair: None, start: 0, halvings: 1, spent: 0 }
    }

    /// Returns the best plan that `work` leads to, if it is better than the best so far.
    pub(super) fn run(
        &mut self,
        quest: Quest<'_>,
        work: u64,
        is_needed: impl Fn() -> bool,
    ) -> Option<Vec<u64>> {
        let (mut best, mut reached, mut done) = (None, quest.peak, 0);
        if self.start != quest.peak {
            self.repair = None;
        }
        while done < work && reached > quest.goal && is_needed() {
            let random = &mut self.random;
            let repair = self.repair.get_or_insert_with(|| {
                let random = Random::new(random.next(), 0, 0);
                Repair::new(self.problem, self.dearness, quest.offsets.to_vec(), random)
            });
            let before = repair.work();
            if self.spent == 0 {
                repair.aim(quest.aim(reached, self.halvings));
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
                self.halvings = self.halvings % EASIEST + 1;
                self.spent = 0;
            }
        }
        self.start = reached;
        best
    }
}

/// Returns the work for an aim: the nearer to the goal, the less, so that easier aims are soon
/// tried.
fn patience(count: usize, halvings: u32) -> u64 {
    (count as u64 * WORK_PER_ITEM).max(LEAST_PATIENCE) << (halvings - 1)
}
