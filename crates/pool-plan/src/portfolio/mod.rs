//! The portfolio: greedy plans under several orders; where the best is above the target, rounds of
//! exact search and local search until the budget is spent.
//!
//! A round is a fixed list of tasks of fixed length, the same whatever the number of threads and
//! their speed; its results are taken in the order of the tasks. So the only thing that time
//! decides is how many rounds there are.

mod improve;
mod limit;
mod round;
mod standing;
mod tasks;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::bound::Bound;
use crate::error::PlanError;
use crate::greedy::{Order, Place};
use crate::item::{Item, peak};
use crate::options::{Monitor, Options};
use crate::plan::{Certificate, Plan};
use crate::search::Instance;

use limit::Limit;
use round::Rounds;
use standing::Standing;

/// A problem, as the portfolio sees it.
pub(crate) struct Portfolio<'a, M, I> {
    /// The items that are to be placed.
    pub(crate) items: &'a [Item],
    /// The orders of the greedy plans.
    pub(crate) orders: Vec<Order>,
    /// Makes a placer.
    pub(crate) placer: M,
    /// Makes the instance of the exact search, if it is small enough for one.
    pub(crate) instance: I,
    /// The exact lower bound of the problem.
    pub(crate) bound: Bound,
    /// When planning began: the budget pays for the bound too.
    pub(crate) start: Instant,
    /// How long to plan, and for which capacity or tolerance.
    pub(crate) options: &'a Options,
    /// The monitor through which another thread watches the portfolio and may stop it.
    pub(crate) monitor: &'a Monitor,
}

impl<P, M, I> Portfolio<'_, M, I>
where
    P: Place,
    M: Fn() -> P + Sync,
    I: FnOnce() -> Option<Instance>,
{
    /// The best plan in the budget.
    pub(crate) fn solve(self) -> Result<Plan, PlanError> {
        let (options, monitor, bound) = (self.options, self.monitor, &self.bound);
        monitor.set_bound(bound.bytes);
        if let Some(capacity) = options.capacity.filter(|&capacity| capacity < bound.bytes) {
            let (bound, witness) = (bound.bytes, bound.witness.clone());
            return Err(PlanError::Infeasible { capacity, bound, witness });
        }
        let target = options.target(bound.bytes);
        // A budget beyond the end of time is none.
        let limit = Limit { deadline: self.start.checked_add(options.budget), monitor };
        let mut standing = self.greedy(target, limit)?;
        monitor.set_best(standing.peak);
        if standing.peak > target && options.rounds != Some(0) && !limit.is_reached() {
            let instance = (self.instance)();
            let (items, placer) = (self.items, &self.placer);
            let rounds =
                Rounds { items, instance: instance.as_ref(), placer, target, options, limit };
            rounds.run(&mut standing);
        }
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
                Ok(Plan { offsets, certificate })
            }
        }
    }

    /// The best greedy plan. Orders are tried two at a time, until one meets the target. The first
    /// is always finished, so that there is a plan.
    fn greedy(&self, target: u64, limit: Limit<'_>) -> Result<Standing, PlanError> {
        let mut best: Option<Standing> = None;
        for (number, pair) in self.orders.chunks(2).enumerate() {
            if best.as_ref().is_some_and(|best| best.peak <= target || limit.is_reached()) {
                break;
            }
            let (items, placer) = (self.items, &self.placer);
            // An order after one that meets the target is not needed.
            let met = AtomicUsize::new(usize::MAX);
            let plans = tasks::run(self.options.threads, pair.len(), |index| {
                let is_first = number == 0 && index == 0;
                let is_needed =
                    || is_first || index < met.load(Ordering::Relaxed) && !limit.is_reached();
                let offsets =
                    placer().place_while(&pair[index].items, pair[index].fit, is_needed)?;
                let peak = peak(items, &offsets);
                if peak <= target {
                    met.fetch_min(index, Ordering::Relaxed);
                }
                Some((offsets, peak))
            });
            for (order, plan) in pair.iter().zip(plans) {
                let Some((offsets, peak)) = plan else { continue };
                if best.as_ref().is_none_or(|best| peak < best.peak) {
                    let (order, least) = (order.clone(), self.bound.bytes);
                    best = Some(Standing { offsets, peak, order, least });
                }
                if peak <= target {
                    break;
                }
            }
        }
        // There is always an order, and the first is always finished.
        best.ok_or(PlanError::Internal { what: "no order was placed" })
    }
}
