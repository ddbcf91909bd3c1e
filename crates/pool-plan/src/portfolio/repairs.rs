//! A repair that goes on from round to round: which capacity it aims at, and when it starts anew.

use super::repair::{Conflicted, Dearness, Repair};
use crate::item::peak;
use crate::random::Random;

/// Conflicts looked at between two looks at the clock: about a millisecond.
const WORK_UNWATCHED: u64 = 1 << 16;
/// Work for each item of the problem after which an aim is changed without success.
const WORK_PER_ITEM: u64 = 1 << 9;
/// The least work after which an aim is changed without success.
const LEAST_PATIENCE: u64 = 1 << 18;
/// Halvings of the distance between the goal and the best plan at the easiest aim.
const EASIEST: u32 = 6;

/// Repairs of one kind, one after the other.
#[derive(Debug)]
pub(super) struct Repairs<'a> {
    problem: Conflicted<'a>,
    dearness: Dearness,
    random: Random,
    repair: Option<Repair<'a>>,
    /// The peak of the plan that the repair started from.
    start: u64,
    /// Halvings between the goal and the best plan that make the aim.
    halvings: u32,
    /// Work that was done for the aim.
    spent: u64,
}

/// The best plan of all, as a repair needs it, and what is sought.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quest<'a> {
    pub(super) offsets: &'a [u64],
    pub(super) peak: u64,
    /// The capacity at which to stop.
    pub(super) goal: u64,
    /// The number of bytes that offsets and peaks are multiples of.
    pub(super) granule: u64,
}

impl Quest<'_> {
    /// A capacity between the goal and a peak, nearer to the peak for each halving.
    fn aim(&self, peak: u64, halvings: u32) -> u64 {
        let below = peak.saturating_sub(self.granule);
        let distance = below.saturating_sub(self.goal) >> halvings;
        (below - distance) / self.granule * self.granule
    }
}

impl<'a> Repairs<'a> {
    /// Repairs that have not begun.
    pub(super) fn new(problem: Conflicted<'a>, dearness: Dearness, random: Random) -> Self {
        Self { problem, dearness, random, repair: None, start: 0, halvings: 1, spent: 0 }
    }

    /// The best plan that `work` leads to, if one is better than the best of all.
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

/// The work that an aim is given: the nearer it is to the goal, the less, so that easier ones are soon tried.
fn patience(count: usize, halvings: u32) -> u64 {
    (count as u64 * WORK_PER_ITEM).max(LEAST_PATIENCE) << (halvings - 1)
}
