//! The portfolio: greedy plans under several orders. If the best is above the target, rounds of
//! exact search and local search follow until the budget is spent.
//!
//! A round is a fixed list of tasks of fixed length, independent of the number of threads and their
//! speed. Its results are taken in the order of the tasks. So time decides only the number of
//! rounds.

mod exact;
mod heuristics;
mod improve;
mod repair;
mod repairs;
mod round;
mod standing;

use std::time::Instant;

use crate::bound::Bound;
use crate::error::PlanError;
use crate::greedy::{Measures, Place};
use crate::item::Item;
use crate::options::{Monitor, Options};
use crate::overlaps::LazyOverlaps;
use crate::plan::{Certificate, Plan, Proof, StopReason};
use crate::search::{Instance, Neighbours};
use crate::work::Limit;

use exact::MANY_ITEMS;
use heuristics::Heuristics;
use repair::Conflicted;
use round::Rounds;
use standing::Standing;

/// The number of greedy recipes that are tried before anything else if a capacity is given.
const FIRST_RECIPES: usize = 3;

/// The ratio up to which a proof is likely.
const MOST_LIKELY: f64 = 1.01;

/// Rounds of search for a problem with fewer items.
const COARSE_ROUNDS: u32 = 16;
/// The divisor of the remaining budget for a problem with fewer items.
const COARSE_PART: u32 = 4;

/// Plans a problem with fewer items, made from the current one; `None` if there is no such problem.
pub(crate) type Coarse<'a> = &'a dyn Fn(&Options) -> Option<Vec<u64>>;

/// The portfolio's form of a problem.
pub(crate) struct Portfolio<'a, M, I> {
    /// The items to place.
    pub(crate) items: &'a [Item],
    /// The numbers from which the orders of greedy plans are made.
    pub(crate) measures: Measures<'a>,
    /// Makes a placer.
    pub(crate) placer: M,
    /// Makes the instance of the exact search, if it is small enough for one.
    pub(crate) instance: I,
    /// Plans a problem with fewer items, made from this one.
    pub(crate) coarse: Option<Coarse<'a>>,
    /// The overlaps of an interval problem, used to find conflicts if no instance lists them.
    pub(crate) overlaps: Option<&'a LazyOverlaps<'a>>,
    /// The exact lower bound of the problem.
    pub(crate) bound: Bound,
    /// The start of planning: the budget pays for the bound, too.
    pub(crate) start: Instant,
    /// The options: budget, capacity, tolerance.
    pub(crate) options: &'a Options,
    /// The monitor through which another thread watches the portfolio and may stop it.
    pub(crate) monitor: &'a Monitor,
}

impl<P, M, I> Portfolio<'_, M, I>
where
    P: Place,
    M: Fn() -> P + Sync,
    I: FnOnce(&dyn Fn() -> bool) -> Option<Instance>,
{
    /// Plans the problem with fewer items, after the first plan, and keeps a better plan.
    fn try_coarse(&self, heuristics: &Heuristics<'_, M>, standing: &mut Standing) {
        let (first_plan, rounds) = (self.start.elapsed(), self.options.rounds);
        let left = self.options.budget.saturating_sub(first_plan);
        // If rounds are counted, the time has no influence.
        let budget = if rounds.is_some() { left } else { left / COARSE_PART };
        // Its first plan takes less time than that of this problem, and is always finished.
        if budget < first_plan {
            return;
        }
        let rounds = Some(rounds.unwrap_or(COARSE_ROUNDS).min(COARSE_ROUNDS));
        let options = Options { budget, rounds, ..self.options.clone() };
        if let Some(offsets) = self.coarse.and_then(|coarse| coarse(&options)) {
            heuristics.take(self.items, offsets, standing);
        }
    }

    /// Returns the best plan in the budget.
    pub(crate) fn solve(self) -> Result<Plan, PlanError> {
        let (options, monitor, bound) = (self.options, self.monitor, &self.bound);
        if let Some(capacity) = options.capacity.filter(|&capacity| capacity < bound.bytes) {
            let (bound, witness) = (bound.bytes, bound.witness.clone());
            return Err(PlanError::Infeasible { capacity, bound, witness });
        }
        let target = options.target(bound.bytes);
        // A budget beyond the end of time is no limit.
        let limit = Limit { deadline: self.start.checked_add(options.budget), monitor };
        let (measures, placer) = (&self.measures, &self.placer);
        let mut heuristics = Heuristics::new(measures, placer, options.threads, target, limit);
        let mut standing = heuristics.first(bound.bytes)?;
        if standing.peak > target && !limit.is_reached() {
            self.try_coarse(&heuristics, &mut standing);
        }
        // Textbook heuristics come first, unless a capacity is given: then a search may be faster
        // than all greedy plans. With many items, a greedy plan takes as long as some repairs of
        // one. The rest are tried among the rounds.
        if options.capacity.is_some() && options.rounds != Some(0) {
            heuristics.advance(FIRST_RECIPES, &mut standing);
        } else {
            heuristics.advance_textbooks(&mut standing);
        }
        if self.items.len() <= MANY_ITEMS && options.capacity.is_none() {
            heuristics.advance(usize::MAX, &mut standing);
        }
        if standing.peak > target && options.rounds != Some(0) && !limit.is_reached() {
            let instance = (self.instance)(&|| !limit.is_reached());
            let overlaps = self.overlaps.filter(|_| instance.is_none()).map(LazyOverlaps::get);
            let listed = instance.as_ref().map(|one| Neighbours::Listed(&one.conflicts));
            let neighbours = listed.or(overlaps.map(Neighbours::Found));
            let durations = &measures.durations;
            let items = self.items;
            let rounds = Rounds {
                items,
                instance: instance.as_ref(),
                conflicted: neighbours.map(|neighbours| Conflicted {
                    items,
                    durations,
                    neighbours,
                }),
                placer,
                target,
                options,
                limit,
            };
            rounds.run(&mut standing, &mut heuristics);
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

/// Returns the reason why a portfolio with this target ended.
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

/// Returns the proof of a plan, or the prospect of one.
///
/// Alignments that force padding leave the bound below the optimum of most problems.
// Uncounted: one pass over the items, at the end.
fn proof(certificate: &Certificate, items: &[Item]) -> Proof {
    let is_padded = |item: &Item| item.size % item.alignment != 0;
    if certificate.peak == certificate.bound {
        Proof::Witness
    } else if certificate.is_optimal() {
        Proof::Search
    } else if certificate.ratio() <= MOST_LIKELY && !items.iter().any(is_padded) {
        Proof::Likely
    } else {
        Proof::Unlikely
    }
}
