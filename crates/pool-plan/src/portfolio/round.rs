//! The rounds of a portfolio. This module decides which capacity each task aims for, and how the
//! result is used.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use super::exact::{Attempt, Exact, FEW_ITEMS, MANY_ITEMS, warm_up};
use super::heuristics::Heuristics;
use super::improve::{ImprovedPlan, improve};
use super::repair::{Conflicted, Dearness};
use super::repairs::{Quest, Repairs};
use super::searched::Searched;
use super::standing::Standing;
use super::windows::Windows;
use crate::greedy::{Measures, Placer};
use crate::item::{Item, peak};
use crate::options::Options;
use crate::overlaps::Overlaps;
use crate::random::Random;
use crate::search::{Instance, Neighbours};
use crate::tasks;
use crate::work::{Limit, Watch};

/// The number of conflicts per item that each repair checks in one round. `REPAIR_WORK` limits the
/// total number of conflicts.
const REPAIR_WORK_PER_ITEM: u64 = 1 << 9;
/// The minimum and maximum number of conflicts that each repair checks in a round.
const REPAIR_WORK: [u64; 2] = [1 << 20, 1 << 24];
/// The number of greedy recipes that each round tries until no recipes remain. The second number
/// applies to short rounds if there are more than [`HUGE_ITEMS`] items, because a greedy plan then
/// takes as long as such a round, which improves the best plan more than most recipes do.
const RECIPES: [usize; 2] = [4, 1];
/// The number of items above which the first short rounds try no recipes, and the number of these
/// rounds. For a million items, a greedy plan takes seconds.
const NO_RECIPES: (usize, u64) = (1 << 18, 2);
/// The number of items above which windows of the timeline are searched. For smaller problems,
/// searches of the whole problem are better.
pub(super) const HUGE_ITEMS: usize = 1 << 14;
/// The number of initial rounds that spend most of their time on local searches. In later rounds,
/// exact searches receive most of the time if the problem is small enough for them.
const LOCAL_ROUNDS: u64 = 8;
/// The number of initial rounds that consist of repairs and short local searches, for problems
/// without a capacity. The first number applies if there are few items, and the second applies if
/// there are more. Repairs improve a greedy plan within milliseconds, but an exact search for the
/// lower bound of a large problem rarely finishes.
const FIRST_LOCAL_ROUNDS: [u64; 2] = [3, 6];
/// The minimum and maximum number of conflicts that each repair checks in the first round. The
/// limits apply if no capacity is set. The number of conflicts doubles in each round.
const FIRST_REPAIR_WORK: [u64; 2] = [1 << 15, 1 << 20];
/// The number of conflicts per item that each repair checks in the first round of a problem without
/// a capacity. `FIRST_REPAIR_WORK` limits the total number of conflicts.
const FIRST_REPAIR_WORK_PER_ITEM: u64 = 1 << 5;
/// The number of initial rounds that only continue searches, if a capacity is set and there are
/// niche searches. The continued searches find most of the tight packings that can be found
/// quickly. Without a capacity, the number is 1 if there are few items, and 0 if there are more.
const CONTINUED_ROUNDS: u64 = 3;
/// The number of local searches per round that modify the order of a greedy plan.
const CLIMBS: usize = 2;
/// The number of items that each of the local searches places per round. The second number applies
/// if alignment requires padding.
const CLIMB_ITEMS: [usize; 2] = [20_000, 1 << 17];
/// The number of items at which a local search changes the order most often.
const LEAST_CLIMBED: usize = 256;
/// The number of rounds after which a round has searches that aim for the goal, if alignment
/// requires padding. The goal is a bound without padding, so most of these searches fail.
const PADDED_ROUNDS: u64 = 4;
/// The number of conflicts that repairs check in a short round for each item that a local search
/// places. With this number, both take about the same time.
const CONFLICTS_PER_CLIMBED: u64 = 1 << 6;
/// The number of items and sections that searches of windows, and a descent in a short round, read
/// for each conflict that a repair checks. With this number, all take about the same time.
const READ_PER_CONFLICT: u64 = 1 << 3;
/// The number of initial short rounds without a descent, if there are many items. Creating the
/// exact searches takes as long as one of these rounds.
const ROUNDS_BEFORE_DESCENT: u64 = 1;

/// A function that returns an interval problem's overlaps.
pub(super) type FindOverlaps<'a> = &'a (dyn Fn() -> &'a Overlaps<'a> + Sync);

/// Runs a portfolio's rounds.
pub(super) struct Rounds<'a, M> {
    pub(super) items: &'a [Item],
    /// The measures that determine the orders of greedy plans.
    pub(super) measures: &'a Measures<'a>,
    /// `true` if an item's size is not a multiple of its alignment, so that a plan may require
    /// padding.
    pub(super) is_padded: bool,
    /// The instance for the exact searches, or `None` if the problem is too large for them. The
    /// instance is created before the first round that needs it.
    pub(super) instance: &'a OnceLock<Option<Instance>>,
    /// An interval problem's overlaps, which repairs use while there is no instance.
    pub(super) overlaps: Option<FindOverlaps<'a>>,
    pub(super) placer: &'a M,
    pub(super) target: u64,
    pub(super) options: &'a Options,
    pub(super) limit: Limit<'a>,
}

/// The result of one task in a round.
enum Finding {
    /// The task found a plan within its capacity.
    Plan(Vec<u64>),
    /// The task proved that no plan fits within a capacity.
    None { within: u64 },
    /// The task has found no plan yet. For each section, the list contains the number of times that
    /// its items did not fit within the capacity.
    Failures(Vec<u64>),
    /// The task computed a plan from an order of the items.
    Climbed(ImprovedPlan),
    /// The task was not needed, ran out of time, or found no plan.
    Skipped,
}

/// The state that is passed from round to round.
struct Progress<'a> {
    repairs: Vec<Mutex<Repairs<'a>>>,
    exact: Option<Exact<'a>>,
    /// The number of bytes by which all offsets and peaks are divisible.
    granule: u64,
    /// The searches of windows, if there are enough items.
    windows: Option<Mutex<Windows<'a>>>,
}

impl<'a, P: Placer, M: Fn() -> P + Sync> Rounds<'a, M> {
    /// Improves `standing` until the plan meets the target, no further improvement is possible, or
    /// the limit is reached. `make` creates the instance for the exact searches, if the problem is
    /// small enough.
    // Uncounted: the loop needs no counter because the function checks the clock before each round.
    pub(super) fn run(
        &self,
        make: impl FnOnce() -> Option<Instance>,
        standing: &mut Standing,
        heuristics: &mut Heuristics<'_, M>,
    ) {
        let is_windowed = self.items.len() > HUGE_ITEMS
            && self.overlaps.is_some()
            && !self.measures.has_rough_plan;
        let windows = is_windowed.then(|| Mutex::new(Windows::new(self.items, self.measures)));
        let (repairs, granule) = (Vec::new(), granule(self.items));
        let mut progress = Progress { repairs, exact: None, granule, windows };
        let mut make = Some(make);
        if self.overlaps.is_some() && self.is_local(MANY_ITEMS) {
            // Creating the instance of a large problem takes as long as a short round of repairs.
            progress.repairs = self.repairs(self.found());
        } else if let Some(make) = make.take() {
            self.prepare(make, &mut progress);
        }
        // A short exact search solves most small problems, so it precedes the repairs. Small graphs
        // need no repairs first. If alignment requires padding, full rounds are the most useful.
        let is_small = self.items.len() <= FEW_ITEMS;
        let count = match (self.is_padded, self.overlaps) {
            (true, _) => MANY_ITEMS,
            (false, Some(_)) => 0,
            (false, None) => FEW_ITEMS,
        };
        let is_local = self.is_local(count) && !progress.repairs.is_empty();
        let first_local = u64::from(is_small);
        let local = if is_local { FIRST_LOCAL_ROUNDS[usize::from(!is_small)] } else { 0 };
        let last = self.options.rounds.unwrap_or(u32::MAX);
        for number in 0..last {
            let solved = standing.peak <= self.target || standing.least >= standing.peak;
            let hopeless = self.options.capacity.is_some_and(|capacity| standing.least > capacity);
            if solved || hopeless || self.limit.is_reached() {
                return;
            }
            let number = u64::from(number);
            let short = number.checked_sub(first_local).filter(|&number| number < local);
            heuristics.advance(self.recipes(short), standing);
            match short {
                Some(number) => {
                    if let Some(make) = make.take_if(|_| number >= ROUNDS_BEFORE_DESCENT) {
                        self.prepare(make, &mut progress);
                    }
                    self.first_local_round(number, &mut progress, standing);
                }
                None => {
                    if let Some(make) = make.take() {
                        self.prepare(make, &mut progress);
                    }
                    let number = if number < first_local { number } else { number - local };
                    self.full_round(number, &mut progress, standing);
                }
            }
            self.limit.monitor.set_best(standing.peak);
        }
    }

    /// Returns `true` if there are more than `count` items and no capacity is set.
    fn is_local(&self, count: usize) -> bool {
        self.items.len() > count && self.options.capacity.is_none()
    }

    /// Returns the number of recipes for a round. `short` is the number of short rounds before it,
    /// or `None` for a full round.
    fn recipes(&self, short: Option<u64>) -> usize {
        let count = self.items.len();
        match short {
            Some(number) if count > NO_RECIPES.0 && number < NO_RECIPES.1 => 0,
            _ => RECIPES[usize::from(short.is_some() && count > HUGE_ITEMS)],
        }
    }

    /// Creates the exact searches, and the repairs if there are none yet.
    // Uncounted: the loop needs no counter because there are only two series of repairs.
    fn prepare(&self, make: impl FnOnce() -> Option<Instance>, progress: &mut Progress<'a>) {
        let instance = self.instance.get_or_init(make).as_ref();
        progress.exact = instance.map(|instance| Exact::new(instance, self.options.seed));
        let listed = instance.map(|instance| Neighbours::Listed(&instance.conflicts));
        if progress.repairs.is_empty() {
            progress.repairs = self.repairs(listed.or_else(|| self.found()));
        } else if let Some(neighbours) = listed {
            for repairs in progress.repairs.iter_mut().filter_map(|one| one.get_mut().ok()) {
                repairs.use_neighbours(neighbours);
            }
        }
    }

    /// Returns the conflicts of an interval problem, which are found on demand.
    fn found(&self) -> Option<Neighbours<'a>> {
        self.overlaps.map(|overlaps| Neighbours::Found(overlaps()))
    }

    /// Creates one series of repairs for each cost measure. Without `neighbours`, the conflicts
    /// between items are unknown, and there are no repairs.
    // Uncounted: the loop needs no counter because the function creates only two series of repairs.
    fn repairs(&self, neighbours: Option<Neighbours<'a>>) -> Vec<Mutex<Repairs<'a>>> {
        let (items, durations) = (self.items, self.measures.durations.as_slice());
        let each = neighbours.into_iter().flat_map(|neighbours| {
            let conflicted = Conflicted { items, durations, neighbours };
            [Dearness::Area, Dearness::Side].map(|dearness| (conflicted, dearness))
        });
        let repairs = each.zip(0..).map(|((conflicted, dearness), task)| {
            Repairs::new(conflicted, dearness, Random::new(self.options.seed, u64::MAX, task))
        });
        repairs.map(Mutex::new).collect()
    }

    /// Runs a short round that consists of repairs and, after the first such round, of short local
    /// searches. Once the exact searches have been created, the round includes a descent.
    fn first_local_round(&self, number: u64, progress: &mut Progress<'_>, standing: &mut Standing) {
        let (goal, granule) = (self.goal(progress.granule, standing), progress.granule);
        let quest = Quest { offsets: &standing.offsets, peak: standing.peak, goal, granule };
        let [least, most] = FIRST_REPAIR_WORK;
        let work = self.items.len() as u64 * FIRST_REPAIR_WORK_PER_ITEM;
        let work = work.clamp(least, most) << number;
        let repairs = progress.repairs.as_slice();
        let attempts = usize::try_from(work / (CONFLICTS_PER_CLIMBED * self.items.len() as u64))
            .unwrap_or(usize::MAX);
        let climbs = if attempts > 0 { CLIMBS } else { 0 };
        let exact = progress.exact.as_mut();
        let descent =
            exact.map(|exact| (exact.begin(goal, (standing.peak, granule), false), &*exact));
        let descents = usize::from(descent.is_some());
        let others = descents + repairs.len() + climbs;
        let count = others + usize::from(progress.windows.is_some());
        let findings = tasks::run(self.options.threads, count, |task| {
            let is_needed = || !self.limit.is_reached();
            let read = work * READ_PER_CONFLICT;
            if let Some(windows) = progress.windows.as_ref().filter(|_| task == others) {
                return self.search_windows(windows, quest, read, is_needed);
            }
            if let Some((capacities, exact)) = descent.filter(|_| task == 0) {
                return exact.descend(capacities, read, self.limit, is_needed).into();
            }
            let task = task - descents;
            if let Some(climb) = task.checked_sub(repairs.len()) {
                return self.climb((u64::MAX - 1 - number, climb), attempts, standing);
            }
            repair(&repairs[task], quest, work, is_needed)
        });
        findings.into_iter().for_each(|finding| self.take(finding, progress, standing));
    }

    /// Runs a round that includes all kinds of tasks.
    fn full_round(&self, number: u64, progress: &mut Progress<'_>, standing: &mut Standing) {
        let goal = self.goal(progress.granule, standing);
        let (granule, before) = (progress.granule, standing.peak);
        let quest = Quest { offsets: &standing.offsets, peak: before, goal, granule };
        let is_exact = progress.exact.is_some() && self.items.len() <= MANY_ITEMS;
        let exact = progress.exact.as_mut();
        let begun = exact.map(|exact| {
            let is_given = self.options.capacity.is_some();
            (exact.begin(goal, (before, granule), is_given), &*exact)
        });
        // After the initial rounds, exact searches receive most of the time if they are useful.
        let continued = begun.map_or(0, |(_, exact)| exact.continued());
        let is_given = self.options.capacity.is_some();
        let is_first = number == 0 && self.items.len() <= FEW_ITEMS && !self.is_padded;
        let is_continued = is_given && number < CONTINUED_ROUNDS || !is_given && is_first;
        let is_continued = is_continued && continued > 0;
        let is_local = !is_exact || number < LOCAL_ROUNDS || number % LOCAL_ROUNDS == 0;
        let is_local = (is_local || self.is_padded) && !is_continued;
        let local = if is_local { progress.repairs.as_slice() } else { &[] };
        let searches = begun.map_or(0, |(_, exact)| exact.count());
        let searches = if is_continued { continued } else { searches };
        let climbs = if is_local { CLIMBS } else { 0 };
        let is_away = self.is_padded && number % PADDED_ROUNDS != PADDED_ROUNDS - 1;
        // If a task reaches the target, no further round is needed, and the results of all later
        // tasks are ignored. A task must not stop early if a later round continues it, because the
        // plan must not depend on the number of threads.
        let is_last = goal <= self.target;
        let found = AtomicUsize::new(usize::MAX);
        let windows = progress.windows.as_ref().filter(|_| is_local);
        let others = searches + local.len() + climbs;
        let count = others + usize::from(windows.is_some());
        let findings = tasks::run(self.options.threads, count, |task| {
            let is_needed = || task < found.load(Ordering::Relaxed) && !self.limit.is_reached();
            if !is_needed() {
                return Finding::Skipped;
            }
            let finding = if let Some(windows) = windows.filter(|_| task == others) {
                let work = self.repair_work(number) * READ_PER_CONFLICT;
                self.search_windows(windows, quest, work, is_needed)
            } else if let Some((capacities, exact)) = begun.filter(|_| task < searches) {
                if is_away && exact.aims_for_goal(task) {
                    return Finding::Skipped;
                }
                let attempt = Attempt { task, number, seed: self.options.seed };
                exact.run(attempt, capacities, self.limit, is_needed).into()
            } else if let Some(repairs) = local.get(task - searches) {
                let work = self.repair_work(number);
                repair(repairs, quest, work, is_needed)
            } else {
                let items = CLIMB_ITEMS[usize::from(self.is_padded)];
                let most = (items / LEAST_CLIMBED) >> warm_up(number);
                let attempts = (items / self.items.len()).clamp(1, most);
                self.climb((number, task - searches - local.len()), attempts, standing)
            };
            if is_last
                && matches!(&finding, Finding::Plan(offsets) if peak(self.items, offsets) <= goal)
            {
                found.fetch_min(task, Ordering::Relaxed);
            }
            finding
        });
        if let Some(exact) = &mut progress.exact {
            exact.fade();
        }
        for finding in findings.into_iter().take(found.into_inner().saturating_add(1)) {
            self.take(finding, progress, standing);
        }
        if let Some(exact) = &mut progress.exact {
            exact.end(standing.peak < before);
        }
    }

    /// Returns the next capacity for the exact searches.
    fn goal(&self, granule: u64, standing: &Standing) -> u64 {
        if self.options.capacity.is_some() || self.target >= standing.least {
            return self.target / granule * granule;
        }
        // The search proved that the target is unreachable, so the new goal is halfway between the
        // target and the best peak.
        let below = standing.peak.saturating_sub(granule);
        let middle = standing.least + below.saturating_sub(standing.least) / 2;
        middle / granule * granule
    }

    /// Returns the number of conflicts that each repair checks in full round `number`.
    fn repair_work(&self, number: u64) -> u64 {
        let work = self.items.len() as u64 * REPAIR_WORK_PER_ITEM;
        work.clamp(REPAIR_WORK[0] >> warm_up(number), REPAIR_WORK[1])
    }

    fn search_windows(
        &self,
        windows: &Mutex<Windows<'_>>,
        quest: Quest<'_>,
        work: u64,
        is_needed: impl Fn() -> bool,
    ) -> Finding {
        let Ok(mut windows) = windows.lock() else { return Finding::Skipped };
        windows.run(quest, work, self.limit, is_needed).map_or(Finding::Skipped, Finding::Plan)
    }

    /// Runs local search number `task` in round `number`. The first search continues from the order
    /// of the last one. The second starts from the best plan, which a search or a repair may have
    /// found.
    fn climb(&self, (number, task): (u64, usize), attempts: usize, standing: &Standing) -> Finding {
        let mut random = Random::new(self.options.seed, number, task as u64);
        let mut placer = (self.placer)();
        let (target, limit) = (self.target.max(standing.least), self.limit);
        let is_needed = || !limit.is_reached();
        let watch = Watch::new(&is_needed);
        let by_offset;
        let mut order = &standing.order;
        if task > 0 {
            let sorted = self.measures.order_by(&|item| standing.offsets[item], &watch);
            let Some(sorted) = sorted else { return Finding::Skipped };
            by_offset = sorted;
            order = &by_offset;
        }
        let improved =
            improve(self.items, &mut placer, order, target, attempts, &mut random, &watch);
        match improved {
            Some(improved) if task > 0 => Finding::Plan(improved.offsets),
            Some(improved) => Finding::Climbed(improved),
            None => Finding::Skipped,
        }
    }

    fn take(&self, finding: Finding, progress: &mut Progress<'_>, standing: &mut Standing) {
        match finding {
            Finding::Plan(offsets) => {
                let reached = peak(self.items, &offsets);
                if reached < standing.peak {
                    (standing.offsets, standing.peak) = (offsets, reached);
                }
            }
            Finding::None { within } => {
                standing.least =
                    standing.least.max((within + 1).next_multiple_of(progress.granule));
            }
            Finding::Climbed(improved) => {
                if improved.peak < standing.peak {
                    (standing.offsets, standing.peak) = (improved.offsets, improved.peak);
                }
                standing.order = improved.order;
            }
            Finding::Failures(counts) => {
                if let Some(exact) = &mut progress.exact {
                    exact.add(&counts);
                }
            }
            Finding::Skipped => {}
        }
    }
}

fn repair(
    repairs: &Mutex<Repairs<'_>>,
    quest: Quest<'_>,
    work: u64,
    is_needed: impl Fn() -> bool,
) -> Finding {
    let Ok(mut repairs) = repairs.lock() else { return Finding::Skipped };
    repairs.run(quest, work, is_needed).map_or(Finding::Skipped, Finding::Plan)
}

impl From<Option<Searched>> for Finding {
    fn from(searched: Option<Searched>) -> Self {
        match searched {
            Some(Searched::Plan(offsets)) => Self::Plan(offsets),
            Some(Searched::None { within }) => Self::None { within },
            Some(Searched::Failures(counts)) => Self::Failures(counts),
            None => Self::Skipped,
        }
    }
}

/// Returns the greatest number known to divide all offsets and peaks of canonical plans. For every
/// plan, there is a canonical plan with the same or a lower peak. If a peak is impossible, so are
/// all higher peaks up to the next multiple of the returned number.
// Uncounted: the loop needs no counter because the function makes only one pass over the items.
fn granule(items: &[Item]) -> u64 {
    let numbers = items.iter().flat_map(|item| {
        // An alignment of 1 has no effect on offsets.
        let alignment = if item.alignment > 1 { item.alignment } else { 0 };
        [item.size, alignment, item.fixed.unwrap_or(0)]
    });
    numbers.fold(0, greatest_common_divisor).max(1)
}

// Uncounted: the loop needs no counter because the number of iterations grows only with the number
// of bits in the arguments.
fn greatest_common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other > 0 {
        (one, other) = (other, one % other);
    }
    one
}
