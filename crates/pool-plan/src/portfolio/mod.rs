//! The portfolio: greedy plans under several orders; where the best is above the target, rounds of
//! exact search and local search until the budget is spent.
//!
//! A round is a fixed list of tasks of fixed length, the same whatever the number of threads and
//! their speed; its results are taken in the order of the tasks. So the only thing that time
//! decides is how many rounds there are.

mod improve;
mod round;
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

use round::Rounds;

/// A problem, as the portfolio sees it.
pub(crate) struct Portfolio<'a, P, M, I> {
    /// What is to be placed.
    pub(crate) items: &'a [Item],
    /// The orders of the greedy plans.
    pub(crate) orders: Vec<Order>,
    /// Makes a placer.
    pub(crate) placer: M,
    /// Makes the instance of the exact search, if it is small enough for one.
    pub(crate) instance: I,
    /// The bound.
    pub(crate) bound: Bound,
    /// When planning began: the budget pays for the bound too.
    pub(crate) start: Instant,
    pub(crate) options: &'a Options,
    pub(crate) monitor: &'a Monitor,
    pub(crate) placers: std::marker::PhantomData<fn() -> P>,
}

/// The best plan so far, and what is known of better ones.
#[derive(Debug)]
pub(crate) struct Standing {
    pub(crate) offsets: Vec<u64>,
    pub(crate) peak: u64,
    /// The order and fit that a greedy placer makes it from, or one not much worse.
    pub(crate) order: Order,
    /// No plan has a lower peak.
    pub(crate) least: u64,
}

/// When to stop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit<'a> {
    deadline: Option<Instant>,
    monitor: &'a Monitor,
}

impl Limit<'_> {
    /// Whether the budget is spent, or the planner was told to stop.
    pub(crate) fn is_reached(&self) -> bool {
        self.monitor.is_cancelled() || self.deadline.is_some_and(|end| Instant::now() >= end)
    }
}

impl<P, M, I> Portfolio<'_, P, M, I>
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
        let mut standing = self.greedy(target, limit);
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
    fn greedy(&self, target: u64, limit: Limit<'_>) -> Standing {
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
        best.unwrap_or_else(|| {
            // There is always an order; this is what none would give.
            let order = Order { items: Vec::new(), fit: crate::greedy::Fit::Best };
            Standing { offsets: vec![0; self.items.len()], peak: 0, order, least: 0 }
        })
    }
}
