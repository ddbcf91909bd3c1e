//! The greedy plans of a portfolio: the recipes that are tried, and the time at which they stop.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::standing::Standing;
use crate::error::PlanError;
use crate::greedy::{Measures, Order, Place, Placement, Recipe};
use crate::heuristic::GreedyHeuristic;
use crate::item::{Item, peak};
use crate::tasks;
use crate::work::{Limit, Watch};

/// The greedy plans of a portfolio, made a few at a time.
pub(super) struct Heuristics<'a, M> {
    measures: &'a Measures<'a>,
    placer: &'a M,
    threads: usize,
    /// The peak that is low enough.
    target: u64,
    limit: Limit<'a>,
    recipes: Vec<Recipe>,
    /// The number of recipes that were tried.
    tried: usize,
}

impl<'a, P: Place, M: Fn() -> P + Sync> Heuristics<'a, M> {
    /// Prepares the greedy plans of some items; none is made yet.
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

    /// Returns the plan in the order of an earlier one, else that of the first recipe, without a
    /// time limit; no plan is below `bound`.
    pub(super) fn first(&mut self, bound: u64) -> Result<Standing, PlanError> {
        let watch = Watch::new(&|| true);
        let made = if let Some(order) = self.measures.last_order() {
            self.place(order, u64::MAX, &watch)
        } else {
            self.tried = 1;
            self.make(0, u64::MAX, &watch)
        };
        // There is always a recipe, and it has no time limit.
        let Made::Plan { order, offsets, peak } = made else {
            return Err(PlanError::Internal { what: "the first order was not placed" });
        };
        self.limit.monitor.set_best(peak);
        Ok(Standing { offsets, peak, order, least: bound })
    }

    /// Keeps a plan with these offsets if it is better, or the one of its order: each item in its lowest free range.
    pub(super) fn take(&self, items: &[Item], offsets: Vec<u64>, standing: &mut Standing) {
        let order = self.measures.order_by(&|item| offsets[item]);
        let reached = peak(items, &offsets);
        if reached < standing.peak {
            let order = order.clone();
            *standing = Standing { offsets, peak: reached, order, ..*standing };
        }
        let is_needed = || !self.limit.is_reached();
        if let Made::Plan { order, offsets, peak } =
            self.place(order, standing.peak, &Watch::new(&is_needed))
        {
            *standing = Standing { offsets, peak, order, ..*standing };
        }
        self.limit.monitor.set_best(standing.peak);
    }

    /// Tries all recipes of textbook heuristics, as [`advance`](Self::advance) does.
    // Uncounted: a few dozen recipes.
    pub(super) fn advance_textbooks(&mut self, standing: &mut Standing) {
        let last = self.recipes.iter().rposition(Recipe::is_textbook).map_or(0, |last| last + 1);
        self.advance(last.saturating_sub(self.tried), standing);
    }

    /// Tries up to `count` more recipes, until one meets the target or the limit is reached.
    ///
    /// A plan that is no better than the best so far is abandoned as soon as that is certain. So
    /// the best plan does not depend on the number of plans made at a time.
    pub(super) fn advance(&mut self, count: usize, standing: &mut Standing) {
        let end = self.recipes.len().min(self.tried.saturating_add(count));
        while self.tried < end && self.is_worth_more(standing) && !self.limit.is_reached() {
            let some = self.threads.clamp(1, end - self.tried);
            // A recipe after one that meets the target is not needed.
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

    /// Returns `true` if more recipes should be tried. The first recipe is the fastest, not the
    /// best: if the target is above the bound, a second one is tried, too.
    fn is_worth_more(&self, standing: &Standing) -> bool {
        standing.peak > self.target || self.tried == 1 && standing.peak > standing.least
    }

    /// Returns the textbook heuristics that were not tried, or not with both readings of their last
    /// tie.
    // Uncounted: a few dozen recipes.
    pub(super) fn untried(&self) -> Vec<GreedyHeuristic> {
        let left = &self.recipes[self.tried..];
        let is_left = |one: &GreedyHeuristic| left.iter().any(|recipe| recipe.is_of(*one));
        GreedyHeuristic::ALL.into_iter().filter(is_left).collect()
    }

    fn make(&self, number: usize, below: u64, watch: &Watch<'_>) -> Made {
        let recipe = self.recipes[number];
        let Some(order) = self.measures.order(recipe, watch) else { return Made::Stopped };
        // If no tie is broken by names, the plan is again the one by place, and no better.
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

/// The outcome of a recipe.
enum Made {
    /// A plan.
    Plan {
        /// The order from which it was made.
        order: Order,
        /// The offset of each item.
        offsets: Vec<u64>,
        /// The end of the highest byte.
        peak: u64,
    },
    /// The plan reached the peak that it had to stay below, or is the same as another.
    Higher,
    /// The plan was no longer needed before it was done.
    Stopped,
}
