//! The rounds of a portfolio, one after the other: which capacity is searched for by which tasks, and how
//! their findings change the best plan.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::improve::{ImprovedPlan, improve};
use super::limit::Limit;
use super::standing::Standing;
use super::tasks;
use crate::greedy::Place;
use crate::item::{Item, peak};
use crate::options::Options;
use crate::random::Random;
use crate::search::{HEURISTICS, Instance, Outcome, Ranker, Search};

/// Steps of a search that goes on in the next round.
const LASTING_STEPS: u64 = 4_000;
/// Steps of a search that starts anew in each round, times the round's term of Luby's sequence.
const RESTART_STEPS: u64 = 2_000;
/// Searches that start anew: for the goal, and for an easier capacity.
const RESTARTS: [usize; 2] = [6, 3];
/// Local searches.
const CLIMBS: usize = 2;
/// Items that the local searches of a round place, each.
const CLIMB_ITEMS: usize = 20_000;
/// Steps between two looks at the clock.
const STEPS_UNWATCHED: u64 = 256;

/// The rounds of a portfolio.
pub(super) struct Rounds<'a, M> {
    pub(super) items: &'a [Item],
    pub(super) instance: Option<&'a Instance>,
    pub(super) placer: &'a M,
    pub(super) target: u64,
    pub(super) options: &'a Options,
    pub(super) limit: Limit<'a>,
}

/// The result of one task of a round.
enum Finding {
    /// A plan within a capacity.
    Plan(Vec<u64>),
    /// No plan fits a capacity.
    None { within: u64 },
    /// No plan yet; for each section, how often it was the one whose items could not fit.
    Failures(Vec<u64>),
    /// A plan from an order.
    Climbed(ImprovedPlan),
    /// The task was not needed, or there was no time for it.
    Skipped,
}

/// What the rounds hand on from one to the next.
struct Progress<'a> {
    instance: &'a Instance,
    ranker: Ranker<'a>,
    /// Searches for the goal, one for each heuristic.
    lasting: Vec<Mutex<Search<'a>>>,
    failures: Vec<u64>,
    /// Halvings between the goal and the best plan that make the easier capacity.
    easier: u32,
    /// The number of bytes that offsets and peaks are multiples of.
    granule: u64,
}

impl<P: Place, M: Fn() -> P + Sync> Rounds<'_, M> {
    /// Improves `standing` until it meets the target, cannot be improved or the limit is reached.
    pub(super) fn run(&self, standing: &mut Standing) {
        let mut progress = self.instance.map(|instance| Progress {
            instance,
            ranker: Ranker::new(instance),
            lasting: Vec::new(),
            failures: vec![0; instance.section_count],
            easier: 1,
            granule: granule(self.items),
        });
        let last = self.options.rounds.unwrap_or(u32::MAX);
        for number in 0..last {
            let solved = standing.peak <= self.target || standing.least >= standing.peak;
            let hopeless = self.options.capacity.is_some_and(|capacity| standing.least > capacity);
            if solved || hopeless || self.limit.is_reached() {
                return;
            }
            self.round(u64::from(number), progress.as_mut(), standing);
            self.limit.monitor.set_best(standing.peak);
        }
    }

    fn round(&self, number: u64, progress: Option<&mut Progress<'_>>, standing: &mut Standing) {
        let Some(progress) = progress else {
            let climbs =
                tasks::run(self.options.threads, CLIMBS, |task| self.climb(number, task, standing));
            climbs.into_iter().for_each(|finding| self.take(finding, None, standing));
            return;
        };
        let goal = self.goal(progress.granule, standing);
        let easier = progress.easier_capacity(goal, standing.peak);
        if progress.lasting.first().is_none_or(|search| !searches(search, goal)) {
            let search = |heuristic| {
                let ranks = progress.ranker.ranks(heuristic);
                Mutex::new(Search::new(progress.instance, goal, ranks))
            };
            progress.lasting = HEURISTICS.into_iter().map(search).collect();
        }
        let lasting = progress.lasting.len();
        let searches = lasting + RESTARTS[0] + RESTARTS[1];
        let known: &Progress<'_> = progress;
        // A task before one that found what was sought matters; one after it does not.
        let found = AtomicUsize::new(usize::MAX);
        let findings = tasks::run(self.options.threads, searches + CLIMBS, |task| {
            let is_needed = || task < found.load(Ordering::Relaxed) && !self.limit.is_reached();
            if !is_needed() {
                return Finding::Skipped;
            }
            let finding = if task < lasting {
                known.lasting[task].lock().map_or(Finding::Skipped, |mut search| {
                    self.search(&mut search, LASTING_STEPS, is_needed)
                })
            } else if task < searches {
                let capacity = if task < lasting + RESTARTS[0] { goal } else { easier };
                let (mut search, steps) = self.restart(known, capacity, number, task);
                self.search(&mut search, steps, is_needed)
            } else {
                self.climb(number, task, standing)
            };
            if matches!(&finding, Finding::Plan(offsets) if peak(self.items, offsets) <= goal) {
                found.fetch_min(task, Ordering::Relaxed);
            }
            finding
        });
        let before = standing.peak;
        for failures in &mut progress.failures {
            *failures = *failures * 9 / 10;
        }
        for finding in findings {
            self.take(finding, Some(progress), standing);
        }
        progress.easier = if standing.peak < before { 1 } else { (progress.easier + 1).min(6) };
    }

    /// The capacity that the exact search tries next.
    fn goal(&self, granule: u64, standing: &Standing) -> u64 {
        if self.options.capacity.is_some() || self.target >= standing.least {
            return self.target / granule * granule;
        }
        // The target was refuted: halve what is left.
        let below = standing.peak.saturating_sub(granule);
        let middle = standing.least + below.saturating_sub(standing.least) / 2;
        middle / granule * granule
    }

    /// A new search with random preferences, and how many steps it is given.
    fn restart<'i>(
        &self,
        progress: &Progress<'i>,
        capacity: u64,
        number: u64,
        task: usize,
    ) -> (Search<'i>, u64) {
        let mut random = Random::new(self.options.seed, number, task as u64);
        let heuristic = HEURISTICS[task % HEURISTICS.len()];
        // Half of them go by what failed before, once something has.
        let failures = Some(progress.failures.as_slice());
        let failures = failures.filter(|_| number > 0 && task / HEURISTICS.len() % 2 == 0);
        let noise = if number % 2 == 0 { 0.5 } else { 0.1 };
        let ranks = progress.ranker.blurred(heuristic, failures, noise, &mut random);
        let steps = RESTART_STEPS * luby(number + 1);
        (Search::new(progress.instance, capacity, ranks), steps)
    }

    fn search(&self, search: &mut Search<'_>, steps: u64, is_needed: impl Fn() -> bool) -> Finding {
        let mut left = steps;
        while left > 0 && is_needed() {
            let some = left.min(STEPS_UNWATCHED);
            left -= some;
            self.limit.monitor.add_steps(some);
            match search.run(some) {
                Outcome::Found => return Finding::Plan(search.offsets().to_vec()),
                Outcome::Exhausted => return Finding::None { within: search.capacity() },
                Outcome::Abandoned => break,
                Outcome::Paused => {}
            }
        }
        Finding::Failures(search.failures().to_vec())
    }

    fn climb(&self, number: u64, task: usize, standing: &Standing) -> Finding {
        let mut random = Random::new(self.options.seed, number, task as u64);
        let attempts = (CLIMB_ITEMS / self.items.len()).clamp(1, 64);
        let mut placer = (self.placer)();
        let (order, limit) = (&standing.order, self.limit);
        let target = self.target.max(standing.least);
        let improved =
            improve(self.items, &mut placer, order, target, attempts, &mut random, limit);
        improved.map_or(Finding::Skipped, Finding::Climbed)
    }

    fn take(&self, finding: Finding, progress: Option<&mut Progress<'_>>, standing: &mut Standing) {
        match finding {
            Finding::Plan(offsets) => {
                let reached = peak(self.items, &offsets);
                if reached < standing.peak {
                    (standing.offsets, standing.peak) = (offsets, reached);
                }
            }
            Finding::None { within } => {
                let granule = progress.map_or(1, |progress| progress.granule);
                standing.least = standing.least.max((within + 1).next_multiple_of(granule));
            }
            Finding::Climbed(improved) => {
                if improved.peak < standing.peak {
                    (standing.offsets, standing.peak) = (improved.offsets, improved.peak);
                }
                standing.order = improved.order;
            }
            Finding::Failures(counts) => {
                let sums = progress.into_iter().flat_map(|progress| &mut progress.failures);
                sums.zip(counts).for_each(|(sum, count)| *sum += count);
            }
            Finding::Skipped => {}
        }
    }
}

impl Progress<'_> {
    /// A capacity between the goal and the best peak, nearer to the peak the longer nothing is
    /// found.
    fn easier_capacity(&self, goal: u64, peak: u64) -> u64 {
        let below = peak.saturating_sub(self.granule);
        let distance = below.saturating_sub(goal) >> self.easier;
        (below - distance) / self.granule * self.granule
    }
}

fn searches(search: &Mutex<Search<'_>>, capacity: u64) -> bool {
    search.lock().is_ok_and(|search| search.capacity() == capacity)
}

/// What all offsets of canonical plans, and so their peaks, are multiples of. Every plan has a
/// canonical one that is no higher, so refuting a peak refutes all up to the next multiple.
fn granule(items: &[Item]) -> u64 {
    let numbers = items.iter().flat_map(|item| {
        // An alignment of 1 moves nothing.
        let alignment = if item.alignment > 1 { item.alignment } else { 0 };
        [item.size, alignment, item.fixed.unwrap_or(0)]
    });
    numbers.fold(0, greatest_common_divisor).max(1)
}

fn greatest_common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}

/// The sequence 1, 1, 2, 1, 1, 2, 4, … of restart lengths (Luby, Sinclair and Zuckerman 1993).
fn luby(mut term: u64) -> u64 {
    while !(term + 1).is_power_of_two() {
        term -= (1 << term.ilog2()) - 1;
    }
    term.div_ceil(2)
}
