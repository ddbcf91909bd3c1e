//! The greedy plans of a portfolio: which recipes are tried, until when.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::limit::Limit;
use super::standing::Standing;
use crate::error::PlanError;
use crate::greedy::{Measures, Order, Place, Placement, Recipe};
use crate::heuristic::GreedyHeuristic;
use crate::tasks;

/// The greedy plans of a portfolio, made a few at a time.
pub(super) struct Heuristics<'a, M> {
    measures: &'a Measures,
    placer: &'a M,
    threads: usize,
    /// The peak that is low enough.
    target: u64,
    limit: Limit<'a>,
    recipes: Vec<Recipe>,
    /// How many recipes were tried.
    tried: usize,
}

impl<'a, P: Place, M: Fn() -> P + Sync> Heuristics<'a, M> {
    /// The greedy plans of some items, none of them made.
    pub(super) fn new(
        measures: &'a Measures,
        placer: &'a M,
        threads: usize,
        target: u64,
        limit: Limit<'a>,
    ) -> Self {
        let recipes = measures.recipes();
        Self { measures, placer, threads, target, limit, recipes, tried: 0 }
    }

    /// The plan of the first recipe or a better one, whatever time that takes; no plan is below `bound`.
    pub(super) fn first(&mut self, bound: u64) -> Result<Standing, PlanError> {
        let (order, placement) = self.make(0, u64::MAX, || true);
        self.tried = 1;
        // There is always a recipe, and nothing ends it.
        let Placement::Done { offsets, peak } = placement else {
            return Err(PlanError::Internal { what: "the first order was not placed" });
        };
        self.limit.monitor.set_best(peak);
        Ok(Standing { offsets, peak, order, least: bound })
    }

    /// Tries all recipes of textbook heuristics, as [`advance`](Self::advance) does.
    pub(super) fn advance_textbooks(&mut self, standing: &mut Standing) {
        let last = self.recipes.iter().rposition(Recipe::is_textbook).map_or(0, |last| last + 1);
        self.advance(last.saturating_sub(self.tried), standing);
    }

    /// Tries up to `count` more recipes, until one meets the target or the limit is reached.
    ///
    /// A plan that is no better than the best so far is given up as soon as that is certain. So the best plan
    /// does not depend on how many are made at a time.
    pub(super) fn advance(&mut self, count: usize, standing: &mut Standing) {
        let end = self.recipes.len().min(self.tried.saturating_add(count));
        while self.tried < end && self.is_worth_more(standing) && !self.limit.is_reached() {
            let some = self.threads.clamp(1, end - self.tried);
            // A recipe after one that meets the target is not needed.
            let met = AtomicUsize::new(usize::MAX);
            let plans = tasks::run(self.threads, some, |index| {
                let is_needed = || index < met.load(Ordering::Relaxed) && !self.limit.is_reached();
                let made = self.make(self.tried + index, standing.peak, is_needed);
                if matches!(made.1, Placement::Done { peak, .. } if peak <= self.target) {
                    met.fetch_min(index, Ordering::Relaxed);
                }
                made
            });
            for (order, placement) in plans {
                match placement {
                    Placement::Stopped => return,
                    Placement::Done { offsets, peak } if peak < standing.peak => {
                        self.limit.monitor.set_best(peak);
                        *standing = Standing { offsets, peak, order, ..*standing };
                    }
                    Placement::Done { .. } | Placement::Higher => {}
                }
                self.tried += 1;
                if standing.peak <= self.target {
                    return;
                }
            }
        }
    }

    /// Whether more recipes are to be tried. The first is the fastest and not the best: where the target is above
    /// the bound, a second one is tried, too.
    fn is_worth_more(&self, standing: &Standing) -> bool {
        standing.peak > self.target || self.tried == 1 && standing.peak > standing.least
    }

    /// The textbook heuristics that were not tried, or not with both readings of their last tie.
    pub(super) fn untried(&self) -> Vec<GreedyHeuristic> {
        let left = &self.recipes[self.tried..];
        let is_left = |one: &GreedyHeuristic| left.iter().any(|recipe| recipe.is_of(*one));
        GreedyHeuristic::ALL.into_iter().filter(is_left).collect()
    }

    fn make(&self, number: usize, below: u64, is_needed: impl Fn() -> bool) -> (Order, Placement) {
        let recipe = self.recipes[number];
        let order = self.measures.order(recipe);
        // Where no tie is left to names, the plan is the one by place again, and that is no better.
        let same = recipe.by_place().map(|other| self.measures.order(other));
        if same.is_some_and(|same| same.items == order.items) {
            return (order, Placement::Higher);
        }
        let placement = (self.placer)().place_while(&order, below, is_needed);
        (order, placement)
    }
}
