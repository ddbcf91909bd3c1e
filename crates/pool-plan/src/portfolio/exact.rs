//! A portfolio's exact searches. This module defines each search's capacity and duration, and the
//! state that a search carries from round to round.

use std::sync::Mutex;

use super::descent::{Aim, Descent};
use super::repairs::{MOST_HALVINGS, capacity_below};
use super::searched::{Searched, watched};
use crate::random::Random;
use crate::search::{FOCUSES, HEURISTICS, Instance, LASTING, NicheSearch, Ranker, Search};
use crate::work::Limit;

/// The number of steps per round for a search that continues in the next round.
const LASTING_STEPS: u64 = 4_000;
/// The number of steps that a niche search takes in the first round. The number of steps doubles
/// from round to round.
const NICHE_STEPS: u64 = 1_000;
/// The number of rounds after which a niche search stops doubling its number of steps. The first
/// number applies without a capacity, and the second applies with one. If no capacity is set, the
/// other searches are just as useful.
const NICHE_DOUBLINGS: [u64; 2] = [4, 6];
/// The number of times that the work of each search is halved in the first round, if there are few
/// items and repairs follow this round.
const FIRST_SHORTENING: u64 = 3;
/// The maximum work of a niche search per round, measured in items and sections. The first limit
/// applies without a capacity, and the second applies with one.
const NICHE_WORK: [u64; 2] = [MOST_WORK, MOST_WORK << 2];
/// The base number of steps for a search that restarts in each round. In each round, this number is
/// multiplied by the next term in Luby's sequence.
const RESTART_STEPS: u64 = 2_000;
/// The number of restarted searches per round that aim for the goal, and the number that aim for an
/// easier capacity.
const RESTARTS: [usize; 2] = [3, 3];
/// The maximum work of a search per round if there are at most [`MANY_ITEMS`] items, measured in
/// items and sections.
const MOST_WORK: u64 = 1 << 24;
/// The maximum work of a search per round if there are more than [`MANY_ITEMS`] items, measured in
/// items and sections. A search of a large problem rarely succeeds, so most of the time is reserved
/// for repairs.
const LITTLE_WORK: u64 = 1 << 21;
/// The work of the descent per item and round, measured in items and sections. `MOST_DESCENT_WORK`
/// limits the total work. The descent takes about as long as a repair.
const DESCENT_WORK_PER_ITEM: u64 = 1 << 14;
/// The maximum work of the descent per round.
const MOST_DESCENT_WORK: u64 = 1 << 28;
/// The maximum number of items for which the first round's exact searches finish within
/// milliseconds.
pub(super) const FEW_ITEMS: usize = 512;
/// The maximum number of items for which exact searches receive most of each round's time.
pub(super) const MANY_ITEMS: usize = 2_048;

/// The search's number, the round's number, and the seed for random choices.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    pub(super) task: usize,
    pub(super) number: u64,
    pub(super) seed: u64,
}

/// The capacities that the searches of one round try to reach.
#[derive(Clone, Copy, Debug)]
pub(super) struct Capacities {
    pub(super) goal: u64,
    /// A capacity between the goal and the best plan's peak.
    pub(super) easier: u64,
    /// The best plan's peak.
    pub(super) peak: u64,
    /// A number of bytes that divides all peaks.
    pub(super) granule: u64,
    /// `true` if the goal is the capacity that the caller has set, so that no lower peak is needed.
    pub(super) is_given: bool,
}

/// A portfolio's exact searches.
#[derive(Debug)]
pub(super) struct Exact<'a> {
    instance: &'a Instance,
    ranker: Ranker<'a>,
    /// The niche searches that aim for the goal, one for each focus. Each niche search is created
    /// when it is first needed. There are no niche searches if the sections are unordered or if
    /// there are many items.
    niches: Vec<Mutex<Option<NicheSearch<'a>>>>,
    seed: u64,
    /// The capacity that the continued searches try to reach.
    goal: Option<u64>,
    /// The searches that aim for the goal without random choices, one for each order of the items.
    /// Each search is created when it first runs, because creating it takes milliseconds if there
    /// are many items.
    lasting: [Mutex<Option<Search<'a>>>; LASTING],
    /// The searches that aim below the best peak.
    descent: Mutex<Descent<'a>>,
    failures: Vec<u64>,
    /// The number of times that the distance between the goal and the best peak is halved to obtain
    /// the easier capacity.
    easier: u32,
}

impl<'a> Exact<'a> {
    /// Creates the searches without starting them.
    pub(super) fn new(instance: &'a Instance, seed: u64) -> Self {
        Self {
            instance,
            ranker: Ranker::new(instance),
            niches: Vec::new(),
            seed,
            goal: None,
            lasting: Default::default(),
            descent: Mutex::new(Descent::new(instance)),
            failures: vec![0; instance.section_count],
            easier: 1,
        }
    }

    /// Returns the number of searches that continue from the previous round. A round starts with
    /// the searches that continue from the previous round. If there are no niche searches, the
    /// number is 0.
    pub(super) fn continued(&self) -> usize {
        if self.niches.is_empty() { 0 } else { self.niches.len() + self.lasting.len() }
    }

    /// Returns `true` if a search aims for the goal, and `false` if it aims for an easier capacity.
    pub(super) fn aims_for_goal(&self, task: usize) -> bool {
        let continued = self.niches.len() + self.lasting.len();
        let restarts = continued + 1;
        task < continued || (restarts..restarts + RESTARTS[0]).contains(&task)
    }

    /// Returns the number of searches that run in a round.
    pub(super) fn count(&self) -> usize {
        let [hard, easy] = RESTARTS;
        self.niches.len() + self.lasting.len() + 1 + hard + easy
    }

    /// Prepares a round. If the searches find no plan for a long time, `begin` moves the easier
    /// capacity closer to the best peak.
    // Uncounted: the loop needs no counter because the function only creates three searches and
    // does not start them.
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
        // If the caller set a capacity, no easier capacity is needed.
        let easier = if is_given { goal } else { capacity_below(peak, goal, granule, self.easier) };
        Capacities { goal, easier, peak, granule, is_given }
    }

    /// Completes a round and slightly reduces all failure counts.
    pub(super) fn end(&mut self, is_better: bool) {
        self.easier = if is_better { 1 } else { (self.easier + 1).min(MOST_HALVINGS + 1) };
    }

    /// Reduces all failure counts by a tenth.
    // Uncounted: the loop needs no counter because the function makes only one pass over the
    // sections.
    pub(super) fn fade(&mut self) {
        for failures in &mut self.failures {
            *failures = *failures * 9 / 10;
        }
    }

    /// Adds the failures counted by a search.
    // Uncounted: the loop needs no counter because the function makes only one pass over the
    // sections.
    pub(super) fn add(&mut self, counts: &[u64]) {
        self.failures.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }

    /// Runs search number `task` in round `number`. Returns `None` if the search panicked in an
    /// earlier round.
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
        let Some(task) = task.checked_sub(1) else {
            let work = DESCENT_WORK_PER_ITEM * self.instance.items.len() as u64;
            let work = work.min(MOST_DESCENT_WORK);
            return self.descend(capacities, work, limit, is_needed);
        };
        let is_easier = task >= RESTARTS[0];
        let capacity = if is_easier { capacities.easier } else { capacities.goal };
        let mut search = self.restart(capacity, Attempt { task, ..attempt });
        let steps = (RESTART_STEPS * luby(number + 1)) >> warm_up(number);
        Some(watched(&mut search, (steps, work), limit, is_needed))
    }

    /// Continues the descent for a given amount of work. Returns `None` if other searches aim for the
    /// only capacity that is left.
    pub(super) fn descend(
        &self,
        capacities: Capacities,
        work: u64,
        limit: Limit<'_>,
        is_needed: impl Fn() -> bool,
    ) -> Option<Searched> {
        let Capacities { goal, peak, granule, is_given, .. } = capacities;
        if is_given || peak <= goal + granule {
            return None;
        }
        let mut descent = self.descent.lock().ok()?;
        descent.run(&self.ranker, Aim { goal, peak, granule }, work, limit, is_needed)
    }

    /// Returns the number of times that the work of each search is halved in a round. If there are
    /// many items and no capacity is set, exact searches rarely finish in the first rounds. If there
    /// are few items, repairs follow the first round, and later rounds continue the searches.
    fn shortening(&self, number: u64, capacities: Capacities) -> u64 {
        if capacities.is_given {
            0
        } else if self.instance.items.len() > FEW_ITEMS {
            2 * warm_up(number)
        } else if number == 0 && self.continued() > 0 {
            FIRST_SHORTENING
        } else {
            0
        }
    }

    /// Creates a search with new random preferences.
    fn restart(&self, capacity: u64, Attempt { task, number, seed }: Attempt) -> Search<'a> {
        let mut random = Random::new(seed, number, task as u64);
        let heuristic = HEURISTICS[task % HEURISTICS.len()];
        // If earlier searches have counted failures, half of the restarted searches use these
        // counts.
        let failures = Some(self.failures.as_slice());
        let failures = failures.filter(|_| number > 0 && task / HEURISTICS.len() % 2 == 0);
        let noise = if number % 2 == 0 { 0.5 } else { 0.1 };
        let ranks = self.ranker.blurred(heuristic, failures, noise, &mut random);
        Search::new(self.instance, capacity, ranks)
    }
}

/// Returns the number of times that the duration of each search and repair is halved in a round.
/// The first rounds are short because one of their many tasks usually solves a small problem
/// quickly.
pub(super) fn warm_up(number: u64) -> u64 {
    2_u64.saturating_sub(number)
}

/// Returns a term of Luby's sequence of restart lengths: 1, 1, 2, 1, 1, 2, 4, … (Luby, Sinclair,
/// and Zuckerman 1993).
// Uncounted: the loop needs no counter because the function reads only the bits of one number.
fn luby(mut term: u64) -> u64 {
    while !(term + 1).is_power_of_two() {
        term -= (1 << term.ilog2()) - 1;
    }
    term.div_ceil(2)
}
