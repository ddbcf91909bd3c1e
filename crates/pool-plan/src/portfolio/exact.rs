//! The exact searches of a portfolio: the capacity and duration of each, and the state they keep
//! from round to round.

use std::sync::Mutex;

use crate::random::Random;
use crate::search::{
    FOCUSES, HEURISTICS, Instance, LASTING, NicheSearch, Outcome, Ranker, Search, Steps,
};
use crate::work::Limit;

/// The steps of a search that continues in the next round.
const LASTING_STEPS: u64 = 4_000;
/// The steps of a niche search in the first round; they double from round to round.
const NICHE_STEPS: u64 = 1_000;
/// The doublings of the steps of a niche search: [without, with] a capacity. Without one, other
/// searches are as useful.
const NICHE_DOUBLINGS: [u64; 2] = [4, 6];
/// The work limit of a niche search per round, in items and sections: [without, with] a capacity.
const NICHE_WORK: [u64; 2] = [MOST_WORK, MOST_WORK << 2];
/// The steps of a search that restarts in each round, times the round's term of Luby's sequence.
const RESTART_STEPS: u64 = 2_000;
/// The number of searches that restart in each round: [for the goal, for an easier capacity].
const RESTARTS: [usize; 2] = [3, 3];
/// The number of steps between two checks of the clock.
const STEPS_UNWATCHED: u64 = 256;
/// The work of a search between two checks of the clock, in items and sections: about a
/// millisecond.
const WORK_UNWATCHED: u64 = 1 << 18;
/// The work limit of a search per round, in items and sections, for up to [`MANY_ITEMS`] items.
const MOST_WORK: u64 = 1 << 24;
/// The work limit of a search per round, in items and sections, for more than [`MANY_ITEMS`] items.
/// Such a search is of little use, and leaves the time to repairs.
const LITTLE_WORK: u64 = 1 << 21;
/// Up to this many items, the exact searches of the first round end in milliseconds.
pub(super) const FEW_ITEMS: usize = 512;
/// The number of items up to which exact searches get most of a round.
pub(super) const MANY_ITEMS: usize = 2_048;

/// The outcome of a search in one round.
pub(super) enum Searched {
    /// A plan within the capacity.
    Plan(Vec<u64>),
    /// No plan fits a capacity.
    None { within: u64 },
    /// No plan yet; for each section, the number of times that its items could not fit.
    Failures(Vec<u64>),
}

/// The search and the round, and the seed of its choices.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    pub(super) task: usize,
    pub(super) number: u64,
    pub(super) seed: u64,
}

/// The capacities that one round searches for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Capacities {
    pub(super) goal: u64,
    /// A capacity between the goal and the best peak.
    pub(super) easier: u64,
    /// `true` if no peak lower than the goal is requested.
    pub(super) is_given: bool,
}

/// The exact searches.
#[derive(Debug)]
pub(super) struct Exact<'a> {
    instance: &'a Instance,
    ranker: Ranker<'a>,
    /// The niche searches for the goal, one for each focus, once they have begun. They exist if
    /// sections are in an order and there are not many items.
    niches: Vec<Mutex<Option<NicheSearch<'a>>>>,
    seed: u64,
    /// The capacity of the searches that continue.
    goal: Option<u64>,
    /// The searches for the goal, one for each lasting order, once they have begun: with many
    /// items, that takes milliseconds.
    lasting: [Mutex<Option<Search<'a>>>; LASTING],
    failures: Vec<u64>,
    /// The halvings between the goal and the best plan that give the easier capacity.
    easier: u32,
}

impl<'a> Exact<'a> {
    /// Makes searches that have not begun.
    pub(super) fn new(instance: &'a Instance, seed: u64) -> Self {
        Self {
            instance,
            ranker: Ranker::new(instance),
            niches: Vec::new(),
            seed,
            goal: None,
            lasting: Default::default(),
            failures: vec![0; instance.section_count],
            easier: 1,
        }
    }

    /// Returns the number of searches of a round that continue from the one before, which come
    /// first; 0 if there are no niche searches.
    pub(super) fn continued(&self) -> usize {
        if self.niches.is_empty() { 0 } else { self.niches.len() + self.lasting.len() }
    }

    /// Returns the number of searches of a round.
    pub(super) fn count(&self) -> usize {
        self.niches.len() + self.lasting.len() + RESTARTS[0] + RESTARTS[1]
    }

    /// Begins a round: the longer nothing is found, the nearer the easier capacity is to the peak.
    // Uncounted: three searches, not begun.
    pub(super) fn begin(
        &mut self,
        goal: u64,
        (peak, granule): (u64, u64),
        is_given: bool,
    ) -> Capacities {
        if self.goal.replace(goal) != Some(goal) {
            self.lasting = Default::default();
            let is_small = self.instance.is_linear && self.instance.items.len() <= MANY_ITEMS;
            let count = if is_small { FOCUSES.len() } else { 0 };
            self.niches = (0..count).map(|_| Mutex::new(None)).collect();
        }
        let below = peak.saturating_sub(granule);
        let distance = below.saturating_sub(goal) >> self.easier;
        // A given capacity needs no easier one.
        let easier = if is_given { goal } else { (below - distance) / granule * granule };
        Capacities { goal, easier, is_given }
    }

    /// Ends a round: failures decay slowly.
    pub(super) fn end(&mut self, is_better: bool) {
        self.easier = if is_better { 1 } else { (self.easier + 1).min(6) };
    }

    /// Decays the failures by a tenth.
    // Uncounted: one pass over the sections.
    pub(super) fn fade(&mut self) {
        for failures in &mut self.failures {
            *failures = *failures * 9 / 10;
        }
    }

    /// Adds the failures of a search.
    // Uncounted: one pass over the sections.
    pub(super) fn add(&mut self, counts: &[u64]) {
        self.failures.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }

    /// Runs search `task` of round `number`; `None` if it has panicked before.
    pub(super) fn run(
        &self,
        attempt: Attempt,
        capacities: Capacities,
        limit: Limit<'_>,
        is_needed: impl Fn() -> bool,
    ) -> Option<Searched> {
        let Attempt { task, number, .. } = attempt;
        if let Some(search) = self.niches.get(task) {
            let is_given = usize::from(capacities.is_given);
            let steps = NICHE_STEPS << number.min(NICHE_DOUBLINGS[is_given]);
            let most = (steps, NICHE_WORK[is_given] >> self.shortening(number, capacities));
            let mut search = search.lock().ok()?;
            let begin = || {
                let random = Random::new(self.seed, u64::MAX, task as u64);
                NicheSearch::new(self.instance, capacities.goal, FOCUSES[task], random)
            };
            return Some(watched(search.get_or_insert_with(begin), most, limit, is_needed));
        }
        let task = task - self.niches.len();
        let is_large = self.instance.items.len() > MANY_ITEMS;
        let work = if is_large { LITTLE_WORK } else { MOST_WORK };
        let work = work >> self.shortening(number, capacities);
        if let Some(search) = self.lasting.get(task) {
            let mut search = search.lock().ok()?;
            let begin = || Search::new(self.instance, capacities.goal, self.ranker.lasting(task));
            let steps = LASTING_STEPS >> warm_up(number);
            return Some(watched(
                search.get_or_insert_with(begin),
                (steps, work),
                limit,
                is_needed,
            ));
        }
        let task = task - self.lasting.len();
        let is_easier = task >= RESTARTS[0];
        let capacity = if is_easier { capacities.easier } else { capacities.goal };
        let mut search = self.restart(capacity, Attempt { task, ..attempt });
        let steps = (RESTART_STEPS * luby(number + 1)) >> warm_up(number);
        Some(watched(&mut search, (steps, work), limit, is_needed))
    }

    /// Returns the number of times that the work of a search is halved in a round. With many items and no given
    /// capacity, an exact search of the first rounds seldom ends.
    fn shortening(&self, number: u64, capacities: Capacities) -> u64 {
        let is_short = self.instance.items.len() > FEW_ITEMS && !capacities.is_given;
        if is_short { 2 * warm_up(number) } else { 0 }
    }

    /// Makes a new search with random preferences.
    fn restart(&self, capacity: u64, Attempt { task, number, seed }: Attempt) -> Search<'a> {
        let mut random = Random::new(seed, number, task as u64);
        let heuristic = HEURISTICS[task % HEURISTICS.len()];
        // Half of them use earlier failures, if there are any.
        let failures = Some(self.failures.as_slice());
        let failures = failures.filter(|_| number > 0 && task / HEURISTICS.len() % 2 == 0);
        let noise = if number % 2 == 0 { 0.5 } else { 0.1 };
        let ranks = self.ranker.blurred(heuristic, failures, noise, &mut random);
        Search::new(self.instance, capacity, ranks)
    }
}

/// Runs a search for some steps or some work, whichever ends first, and checks the clock meanwhile.
fn watched(
    search: &mut impl Steps,
    (steps, work): (u64, u64),
    limit: Limit<'_>,
    is_needed: impl Fn() -> bool,
) -> Searched {
    let (last, most_work) = (search.steps() + steps, search.work() + work);
    while search.steps() < last && search.work() < most_work && is_needed() {
        let before = search.steps();
        let next_look = last.min(before + STEPS_UNWATCHED);
        let outcome = search.run(next_look, search.work() + WORK_UNWATCHED);
        limit.monitor.add_steps(search.steps() - before);
        match outcome {
            Outcome::Found => return Searched::Plan(search.offsets().to_vec()),
            Outcome::Exhausted => return Searched::None { within: search.capacity() },
            Outcome::Abandoned => break,
            Outcome::Paused => {}
        }
    }
    Searched::Failures(search.failures().to_vec())
}

/// Returns the number of times that the lengths of searches and repairs are halved in a round. The first rounds are
/// short, because one of many tasks soon solves most small problems.
pub(super) fn warm_up(number: u64) -> u64 {
    2_u64.saturating_sub(number)
}

/// Returns a term of the sequence 1, 1, 2, 1, 1, 2, 4, … of restart lengths (Luby, Sinclair and
/// Zuckerman 1993).
// Uncounted: the bits of a number.
fn luby(mut term: u64) -> u64 {
    while !(term + 1).is_power_of_two() {
        term -= (1 << term.ilog2()) - 1;
    }
    term.div_ceil(2)
}
