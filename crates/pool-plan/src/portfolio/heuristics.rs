//! A portfolio's greedy plans. This module decides which recipes are tried, and when no further
//! recipe is needed.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::standing::Standing;
use crate::error::PlanError;
use crate::greedy::{Measures, Order, Placement, Placer, Recipe};
use crate::heuristic::GreedyHeuristic;
use crate::item::{Item, peak};
use crate::tasks;
use crate::work::{Limit, Watch};

/// A portfolio's greedy plans, computed a few at a time.
pub(super) struct Heuristics<'a, M> {
    measures: &'a Measures<'a>,
    placer: &'a M,
    threads: usize,
    /// The peak at which no further recipes need to be tried.
    target: u64,
    limit: Limit<'a>,
    recipes: Vec<Recipe>,
    /// The number of recipes tried.
    tried: usize,
}

impl<'a, P: Placer, M: Fn() -> P + Sync> Heuristics<'a, M> {
    /// Prepares the greedy plans without computing any of them.
    pub(super) fn new(
        measures: &'a Measures<'a>,
        placer: &'a M,
        threads: usize,
        target: u64,
        limit: Limit<'a>,
    ) -> Self {
        let recipes = measures.recipes();
        Self { measures, placer, threads, target, limit, recipes, tried: 0 }
    }

    /// Returns the plan that places the buffers in the order of an earlier plan. Without an earlier
    /// plan, the function returns the first recipe's plan. No time limit applies to the first plan.
    /// `bound` is a lower bound on the peak of every plan.
    pub(super) fn first(&mut self, bound: u64) -> Result<Standing, PlanError> {
        let watch = Watch::new(&|| true);
        let made = if let Some(order) = self.measures.last_order() {
            self.place(order, u64::MAX, &watch)
        } else {
            self.tried = 1;
            self.make(0, u64::MAX, &watch)
        };
        // There is always at least one recipe, and the first plan is not subject to any limit.
        let Made::Plan { order, offsets, peak } = made else {
            return Err(PlanError::Internal { what: "the first order was not placed" });
        };
        self.limit.monitor.set_best(peak);
        Ok(Standing { offsets, peak, order, least: bound })
    }

    /// Keeps a given plan if it is better than the best plan so far. The function also tries a
    /// second plan, in which the items are placed in the order of the given offsets, each in the
    /// lowest free range.
    pub(super) fn take(&self, items: &[Item], offsets: Vec<u64>, standing: &mut Standing) {
        let is_needed = || !self.limit.is_reached();
        let watch = Watch::new(&is_needed);
        let order = self.measures.order_by(&|item| offsets[item], &watch);
        let reached = peak(items, &offsets);
        if reached < standing.peak {
            (standing.offsets, standing.peak) = (offsets, reached);
            self.limit.monitor.set_best(reached);
        }
        let Some(order) = order else { return };
        if standing.peak == reached {
            standing.order = order.clone();
        }
        if let Made::Plan { order, offsets, peak } = self.place(order, standing.peak, &watch) {
            *standing = Standing { offsets, peak, order, ..*standing };
        }
        self.limit.monitor.set_best(standing.peak);
    }

    /// Tries all remaining recipes of textbook heuristics that break the last tie by position. See
    /// [`advance`](Self::advance).
    // Uncounted: the loop needs no counter because a portfolio contains only a few dozen recipes.
    pub(super) fn advance_textbooks(&mut self, standing: &mut Standing) {
        let last = self.recipes.iter().rposition(Recipe::is_by_position).map_or(0, |last| last + 1);
        self.advance(last.saturating_sub(self.tried), standing);
    }

    /// Tries up to `count` more recipes, but stops when a plan meets the target or the limit is
    /// reached.
    ///
    /// The planner stops computing a plan as soon as the plan clearly cannot beat the best plan so
    /// far. The number of plans computed at the same time therefore does not affect the best plan.
    pub(super) fn advance(&mut self, count: usize, standing: &mut Standing) {
        let end = self.recipes.len().min(self.tried.saturating_add(count));
        while self.tried < end && self.is_worth_more(standing) && !self.limit.is_reached() {
            let some = self.threads.clamp(1, end - self.tried);
            // If a recipe's plan meets the target, all later recipes are unnecessary.
            let met = AtomicUsize::new(usize::MAX);
            let plans = tasks::run(self.threads, some, |index| {
                let is_needed = || index < met.load(Ordering::Relaxed) && !self.limit.is_reached();
                let watch = Watch::new(&is_needed);
                let made = self.make(self.tried + index, standing.peak, &watch);
                if matches!(made, Made::Plan { peak, .. } if peak <= self.target) {
                    met.fetch_min(index, Ordering::Relaxed);
                }
                made
            });
            for made in plans {
                match made {
                    Made::Stopped => return,
                    Made::Plan { order, offsets, peak } if peak < standing.peak => {
                        self.limit.monitor.set_best(peak);
                        *standing = Standing { offsets, peak, order, ..*standing };
                    }
                    Made::Plan { .. } | Made::Higher => {}
                }
                self.tried += 1;
                if standing.peak <= self.target {
                    return;
                }
            }
        }
    }

    /// Returns `true` if more recipes should be tried. The first recipe is the fastest, but it is
    /// usually not the best. If the target is above the lower bound, a second recipe is always
    /// tried.
    fn is_worth_more(&self, standing: &Standing) -> bool {
        standing.peak > self.target || self.tried == 1 && standing.peak > standing.least
    }

    /// Returns the textbook heuristics that were not tried. A heuristic counts as tried only once
    /// all of its recipes have been tried, including those that break the last ties by name.
    // Uncounted: the loop needs no counter because a portfolio contains only a few dozen recipes.
    pub(super) fn untried(&self) -> Vec<GreedyHeuristic> {
        let left = &self.recipes[self.tried..];
        let is_left = |one: &GreedyHeuristic| left.iter().any(|recipe| recipe.is_of(*one));
        GreedyHeuristic::ALL.into_iter().filter(is_left).collect()
    }

    fn make(&self, number: usize, below: u64, watch: &Watch<'_>) -> Made {
        let recipe = self.recipes[number];
        let Some(order) = self.measures.order(recipe, watch) else { return Made::Stopped };
        // If no tie is broken by name, this plan is the same as the one that breaks ties by
        // position.
        if let Some(other) = recipe.by_place() {
            let Some(same) = self.measures.order(other, watch) else { return Made::Stopped };
            if same.items == order.items {
                return Made::Higher;
            }
        }
        self.place(order, below, watch)
    }

    fn place(&self, order: Order, below: u64, watch: &Watch<'_>) -> Made {
        match (self.placer)().place_while(&order, below, watch) {
            Placement::Done { offsets, peak } => Made::Plan { order, offsets, peak },
            Placement::Higher => Made::Higher,
            Placement::Stopped => Made::Stopped,
        }
    }
}

/// The result of using a recipe to compute a plan.
enum Made {
    /// The plan was completed.
    Plan {
        /// The items' placement order.
        order: Order,
        /// The offset of each item.
        offsets: Vec<u64>,
        /// The offset just past the highest byte that the plan uses.
        peak: u64,
    },
    /// The plan's peak reached the given limit, or the plan would duplicate another one.
    Higher,
    /// The placer stopped because the plan is no longer needed.
    Stopped,
}
