//! A portfolio computes one greedy plan for each of several buffer orders. If the best plan is
//! above the target, the portfolio runs rounds of exact search and local search until the budget
//! runs out.
//!
//! A round is a fixed list of tasks. Neither the list nor the amount of work in each task depends
//! on the number or speed of the threads. The results are processed in task order. The available
//! time affects only the number of rounds, not their results.

mod descent;
mod exact;
mod heuristics;
mod improve;
mod repair;
mod repairs;
mod round;
mod searched;
mod standing;
mod stride;
mod windows;

use std::sync::OnceLock;
use std::time::Instant;

use crate::bound::Bound;
use crate::error::PlanError;
use crate::greedy::{Measures, Placer};
use crate::item::Item;
use crate::options::{Monitor, Options};
use crate::overlaps::LazyOverlaps;
use crate::plan::{Certificate, Plan, Proof, StopReason};
use crate::search::Instance;
use crate::work::Limit;

use exact::MANY_ITEMS;
use heuristics::Heuristics;
use round::{FindOverlaps, HUGE_ITEMS, Rounds};
use standing::Standing;

/// The number of greedy recipes that are tried before the first search if a capacity is set.
const FIRST_RECIPES: usize = 3;

/// The maximum ratio of the peak to the lower bound for which a proof is considered likely.
const MOST_LIKELY: f64 = 1.01;

/// The maximum number of search rounds for the reduced problem.
const COARSE_ROUNDS: u32 = 16;
/// The budget for planning the reduced problem is the remaining budget divided by this number.
const COARSE_PART: u32 = 4;

/// A function that plans a reduced problem, which is derived from the given problem and has fewer
/// items. The function returns `None` if there is no reduced problem.
pub(crate) type Coarse<'a> = &'a dyn Fn(&Options) -> Option<Vec<u64>>;

/// A problem in the form required by a portfolio.
pub(crate) struct Portfolio<'a, M, I> {
    /// The items to be placed.
    pub(crate) items: &'a [Item],
    /// The measures that determine the orders of greedy plans.
    pub(crate) measures: Measures<'a>,
    /// A function that creates a placer.
    pub(crate) placer: M,
    /// A function that creates the instance for the exact searches, if the problem is small enough.
    pub(crate) instance: I,
    /// A function that plans a reduced problem, which is derived from this problem and has fewer
    /// items.
    pub(crate) coarse: Option<Coarse<'a>>,
    /// An interval problem's overlaps. If no instance lists the conflicts between items, repairs
    /// use the overlaps to find them.
    pub(crate) overlaps: Option<&'a LazyOverlaps<'a>>,
    /// The problem's exact lower bound.
    pub(crate) bound: Bound,
    /// The time when planning started. Computing the lower bound also uses up part of the budget.
    pub(crate) start: Instant,
    /// The options, such as the budget, capacity, and tolerance.
    pub(crate) options: &'a Options,
    /// The monitor that another thread can use to observe and stop the planner.
    pub(crate) monitor: &'a Monitor,
}

impl<P, M, I> Portfolio<'_, M, I>
where
    P: Placer,
    M: Fn() -> P + Sync,
    I: FnOnce(&dyn Fn() -> bool) -> Option<Instance>,
{
    /// Plans the reduced problem after the first plan has been computed, and retains the new plan
    /// if it is better.
    fn try_coarse(&self, heuristics: &Heuristics<'_, M>, standing: &mut Standing) {
        let (first_plan, rounds) = (self.start.elapsed(), self.options.rounds);
        let left = self.options.budget.saturating_sub(first_plan);
        // If the number of rounds is limited, the result must not depend on the running time.
        let budget = if rounds.is_some() { left } else { left / COARSE_PART };
        // The reduced problem's first plan is always completed because it takes less time than the
        // first plan for the whole problem.
        if budget < first_plan {
            return;
        }
        let rounds = Some(rounds.unwrap_or(COARSE_ROUNDS).min(COARSE_ROUNDS));
        let options = Options { budget, rounds, ..self.options.clone() };
        if let Some(offsets) = self.coarse.and_then(|coarse| coarse(&options)) {
            heuristics.take(self.items, offsets, standing);
        }
    }

    /// Returns the best plan that the portfolio finds within the budget.
    pub(crate) fn solve(self) -> Result<Plan, PlanError> {
        let (options, monitor, bound) = (self.options, self.monitor, &self.bound);
        if let Some(capacity) = options.capacity.filter(|&capacity| capacity < bound.bytes) {
            let (bound, witness) = (bound.bytes, bound.witness.clone());
            return Err(PlanError::Infeasible { capacity, bound, witness });
        }
        let target = options.target(bound.bytes);
        // A budget that ends beyond the range of `Instant` is treated as unlimited.
        let limit = Limit { deadline: self.start.checked_add(options.budget), monitor };
        let (measures, placer) = (&self.measures, &self.placer);
        let mut heuristics = Heuristics::new(measures, placer, options.threads, target, limit);
        let mut standing = heuristics.first(bound.bytes)?;
        if standing.peak > target && !limit.is_reached() {
            self.try_coarse(&heuristics, &mut standing);
        }
        // All recipes are tried first unless a capacity is set. If a capacity is set, a search may
        // succeed faster than the greedy plans do. If there are many items, a greedy plan takes as
        // long as several repairs, so only textbook heuristics are tried first. If there are even
        // more items, the first plan is improved at once. The remaining recipes are tried between
        // the rounds.
        if options.capacity.is_some() && options.rounds != Some(0) {
            heuristics.advance(FIRST_RECIPES, &mut standing);
        } else if self.items.len() <= MANY_ITEMS {
            heuristics.advance(usize::MAX, &mut standing);
        } else if self.items.len() <= HUGE_ITEMS || self.overlaps.is_none() {
            heuristics.advance_textbooks(&mut standing);
        }
        if standing.peak > target && options.rounds != Some(0) && !limit.is_reached() {
            let instance = OnceLock::new();
            let overlaps = self.overlaps.map(|overlaps| || overlaps.get());
            let rounds = Rounds {
                items: self.items,
                measures,
                is_padded: is_any_padded(self.items),
                instance: &instance,
                overlaps: overlaps.as_ref().map(|find| find as FindOverlaps<'_>),
                placer,
                target,
                options,
                limit,
            };
            let make = || (self.instance)(&|| !limit.is_reached());
            rounds.run(make, &mut standing, &mut heuristics);
        }
        heuristics.advance(usize::MAX, &mut standing);
        let untried = heuristics.untried();
        let Standing { offsets, peak, least, .. } = standing;
        let (bound, best) = (self.bound, peak);
        match options.capacity.filter(|&capacity| peak > capacity) {
            Some(capacity) if least > capacity => {
                Err(PlanError::ProvedInfeasible { capacity, bound: bound.bytes, best })
            }
            Some(capacity) => Err(PlanError::NotFound { capacity, bound: bound.bytes, best }),
            None => {
                let Bound { bytes, witness } = bound;
                let searched_bound = least.max(bytes).min(peak);
                let certificate = Certificate { peak, bound: bytes, witness, searched_bound };
                let untried = if certificate.is_optimal() { Vec::new() } else { untried };
                let stopped = stop_reason(&certificate, target, limit);
                let proof = proof(&certificate, self.items);
                Ok(Plan { offsets, certificate, stopped, proof, untried })
            }
        }
    }
}

/// Returns the condition that stopped the portfolio, given its target.
fn stop_reason(certificate: &Certificate, target: u64, limit: Limit<'_>) -> StopReason {
    if certificate.is_optimal() {
        StopReason::Optimal
    } else if certificate.peak <= target {
        StopReason::GoodEnough
    } else if limit.monitor.is_cancelled() {
        StopReason::Cancelled
    } else if limit.is_reached() {
        StopReason::Budget
    } else {
        StopReason::Rounds
    }
}

/// Returns the proof that a plan is optimal, or an estimate of whether one can be found.
///
/// If alignments require padding, the lower bound is below the optimum for most problems.
fn proof(certificate: &Certificate, items: &[Item]) -> Proof {
    if certificate.peak == certificate.bound {
        Proof::Witness
    } else if certificate.is_optimal() {
        Proof::Search
    } else if certificate.ratio() <= MOST_LIKELY && !is_any_padded(items) {
        Proof::Likely
    } else {
        Proof::Unlikely
    }
}

/// Returns `true` if an item's size is not a multiple of its alignment.
// Uncounted: the loop needs no counter because the function makes only one pass over the items.
fn is_any_padded(items: &[Item]) -> bool {
    items.iter().any(Item::is_padded)
}
