//! The orders in which greedy plans place buffers.

use crate::adjacency::indices;
use crate::heuristic::{GreedyFit, GreedyHeuristic, GreedyOrder};
use crate::sorting::{sort_by_number, unsigned};
use crate::work::Watch;

/// The maximum number of buffers for which each heuristic computes a second plan. The second plan
/// breaks ties by name. For larger problems, ties are broken only by the items' positions in the
/// problem.
const MOST_NAMED: usize = 1 << 12;

/// An order of the items, and the rule that selects a free range for each item.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    /// The items in placement order.
    pub(crate) items: Vec<u32>,
    /// The rule that selects a free range.
    pub(crate) fit: GreedyFit,
    /// `true` if the items are sorted by start.
    pub(crate) is_by_start: bool,
    /// `true` if the placer may work faster by treating gaps as live, and fixed offsets as occupied
    /// at all times.
    pub(crate) is_rough: bool,
}

/// The rule that breaks ties in a greedy order.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Ties {
    /// The longest or largest item comes first, so that smaller items can fill the remaining gaps.
    Large,
    /// The item that starts first comes first, which is the textbook rule. If two items start at
    /// the same time, their positions in the problem break the tie.
    Position,
    /// The item that starts first comes first. If two items start at the same time, their names
    /// break the tie.
    Name,
    /// The same rule as `Position`, except that it ignores gaps in lifetimes.
    Rough,
}

/// A recipe for a greedy plan, consisting of a heuristic and a rule for breaking ties.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Recipe {
    heuristic: GreedyHeuristic,
    ties: Ties,
}

/// A function that returns each item's rank when items are ordered by breadth. The first item has
/// rank 0. The function returns `None` if the watch stops the computation.
pub(crate) type Breadth<'a> = &'a (dyn Fn(&Watch<'_>) -> Option<Vec<u32>> + Sync);

/// The items' measures, which determine the orders of greedy plans. Each vector of measures
/// contains one number per item.
pub(crate) struct Measures<'a> {
    /// Each item's size in bytes.
    pub(crate) sizes: Vec<u64>,
    /// The time during which each item blocks other items.
    pub(crate) durations: Vec<u64>,
    /// The time at which each item is first needed.
    pub(crate) begins: Vec<i64>,
    /// The time after which each item is no longer needed.
    pub(crate) ends: Vec<i64>,
    /// The number of other items that each item blocks.
    pub(crate) degrees: Vec<u64>,
    /// Each item's rank by breadth. An item's rank is determined by the time in its lifetime at
    /// which the most bytes are live.
    pub(crate) breadth: Breadth<'a>,
    /// The items, sorted by start.
    pub(crate) by_begin: Vec<u32>,
    /// Each item's position when the items are sorted by name. The value is `None` if the problem
    /// already lists the items in order of their names.
    pub(crate) named: Option<Vec<u32>>,
    /// `true` if some lifetimes contain gaps or some offsets are fixed. If this field is `true`,
    /// the planner computes a rough plan first.
    pub(crate) has_rough_plan: bool,
    /// The offset of each item in an earlier plan, if there is one. The list may contain fewer
    /// entries than there are items.
    pub(crate) last: &'a [Option<u64>],
}

impl Recipe {
    /// Returns `true` if this recipe produces the given textbook heuristic's plan, regardless of
    /// how it breaks the last tie.
    pub(crate) fn is_of(&self, heuristic: GreedyHeuristic) -> bool {
        self.heuristic == heuristic && matches!(self.ties, Ties::Position | Ties::Name)
    }

    /// Returns `true` if this recipe produces the plan of any textbook heuristic and breaks the
    /// last tie by position.
    pub(crate) fn is_by_position(&self) -> bool {
        self.ties == Ties::Position
    }

    /// Returns a copy that breaks the last tie by position if this recipe breaks it by name. For
    /// any other recipe, returns `None`.
    pub(crate) fn by_place(&self) -> Option<Self> {
        (self.ties == Ties::Name).then_some(Self { ties: Ties::Position, ..*self })
    }
}

impl Measures<'_> {
    /// Returns the recipes for a portfolio's greedy plans. The list begins with the fastest recipe,
    /// continues with the textbook heuristics, and ends with the recipes that break ties in other
    /// ways. The textbook heuristics are sorted by how well they work on most problems.
    // Uncounted: the loop needs no counter because a portfolio contains only a few dozen recipes.
    pub(crate) fn recipes(&self) -> Vec<Recipe> {
        use GreedyFit::{Best, First};
        use GreedyOrder::{Area, Breadth, Conflicts, End, Lifetime, Size, Start};
        use Ties::{Large, Name, Position, Rough};
        let recipe =
            |(order, fit, ties)| Recipe { heuristic: GreedyHeuristic { order, fit }, ties };
        let rough = self.has_rough_plan.then_some((Start, Best, Rough));
        let by_place = [
            // Ordering by start is the fastest, because the placer needs to track the free ranges
            // at only one point in time.
            (Start, Best, Position),
            // The other recipes are ordered by the number of problems in which the recipes up to
            // this one include the best textbook heuristic. The 120 problems are from 30 families,
            // have 1,500 and 5,000 buffers, and are used for nothing else.
            (Size, First, Position),
            (Breadth, First, Position),
            (Area, Best, Position),
            (Conflicts, Best, Position),
            (Breadth, Best, Position),
            (End, First, Position),
            (Start, First, Position),
            (Area, First, Position),
            (Conflicts, First, Position),
            (Lifetime, First, Position),
            (Size, Best, Position),
            (End, Best, Position),
            (Lifetime, Best, Position),
        ];
        let by_name = GreedyHeuristic::ALL.map(|one| (one.order, one.fit, Name));
        let by_name = self.named.iter().flat_map(|_| by_name);
        // No textbook describes these orders.
        let others = [
            (Start, Best, Large),
            (Size, Best, Large),
            (Size, First, Large),
            (Lifetime, First, Large),
            (Lifetime, Best, Large),
            (Area, Best, Large),
            (Area, First, Large),
            (Start, First, Large),
        ];
        rough.into_iter().chain(by_place).chain(others).chain(by_name).map(recipe).collect()
    }

    /// Returns the order that a recipe describes, or `None` if `watch` stops the computation.
    pub(crate) fn order(&self, recipe: Recipe, watch: &Watch<'_>) -> Option<Order> {
        use GreedyOrder::{Area, Breadth, Conflicts, End, Lifetime, Size, Start};
        let GreedyHeuristic { order, fit } = recipe.heuristic;
        let mut items = self.by_begin.clone();
        let at = |item: u32| item as usize;
        // Every sort is stable, so the key of the last sort has the highest priority.
        let mut sort = |key: &dyn Fn(usize) -> u64| {
            sort_by_number(&mut items, |item| key(at(item)), watch).then_some(())
        };
        if let Some(places) = self.named.as_deref().filter(|_| recipe.ties == Ties::Name) {
            sort(&|item| places[item].into())?;
            sort(&|item| unsigned(self.begins[item]))?;
        }
        match order {
            Size if recipe.ties == Ties::Large => sort(&|item| !self.durations[item])?,
            Size => {}
            _ if recipe.ties == Ties::Large || order == Breadth => sort(&|item| !self.sizes[item])?,
            _ => {}
        }
        match order {
            Size => sort(&|item| !self.sizes[item])?,
            Area => {
                sort(&|item| !self.area(item)[0])?;
                sort(&|item| !self.area(item)[1])?;
            }
            Lifetime => sort(&|item| !self.durations[item])?,
            Start => sort(&|item| unsigned(self.begins[item]))?,
            End => sort(&|item| !unsigned(self.ends[item]))?,
            Conflicts => sort(&|item| !self.degrees[item])?,
            Breadth => {
                let ranks = (self.breadth)(watch)?;
                sort(&|item| ranks[item].into())?;
            }
        }
        let is_rough = recipe.ties == Ties::Rough;
        Some(Order { items, fit, is_by_start: order == Start, is_rough })
    }

    /// Returns the items in the order of their offsets in an earlier plan, if there is one. New
    /// items come last, in descending order of size.
    ///
    /// If each item is placed in the lowest free range, it lies no higher than in the earlier plan.
    /// All items placed before a given item are no higher than in the earlier plan. In the earlier
    /// plan, any of these items that conflicts with the given item already lay below it. Unless
    /// there are new items, the new plan is therefore no worse than the earlier plan.
    // Uncounted: the loop needs no counter because the function makes only one pass over the
    // earlier plan.
    pub(crate) fn last_order(&self) -> Option<Order> {
        let last = |item: usize| self.last.get(item).copied().flatten();
        let is_any = self.last.iter().any(Option::is_some);
        let watch = Watch::new(&|| true);
        is_any.then(|| self.order_by(&|item| last(item).unwrap_or(u64::MAX), &watch)).flatten()
    }

    /// Returns the items in the order of their offsets in a plan, or `None` if `watch` stops the
    /// computation. If several items have the same offset, the largest comes first. A placer that
    /// uses the returned order computes a plan that is no worse than the given one.
    pub(crate) fn order_by(
        &self,
        offset: &dyn Fn(usize) -> u64,
        watch: &Watch<'_>,
    ) -> Option<Order> {
        let mut items = self.by_begin.clone();
        let is_sorted = sort_by_number(&mut items, |item| !self.sizes[item as usize], watch)
            && sort_by_number(&mut items, |item| offset(item as usize), watch);
        let fit = GreedyFit::First;
        is_sorted.then_some(Order { items, fit, is_by_start: false, is_rough: false })
    }

    /// Returns the product of an item's size and lifetime, as [lower 64 bits, upper 64 bits].
    #[expect(clippy::cast_possible_truncation, reason = "the halves of a number")]
    fn area(&self, item: usize) -> [u64; 2] {
        let area = u128::from(self.sizes[item]) * u128::from(self.durations[item]);
        [area as u64, (area >> 64) as u64]
    }
}

/// Returns the position of each name in sorted order. If the names are already sorted, returns
/// `None`. Returns `None` if the number of names exceeds the limit for computing second plans.
// Uncounted: the loop needs no counter because the function sorts at most 4,096 names.
pub(crate) fn places_by_name<'a>(
    names: impl ExactSizeIterator<Item = &'a str>,
) -> Option<Vec<u32>> {
    if names.len() > MOST_NAMED {
        return None;
    }
    let names: Vec<&str> = names.collect();
    if names.is_sorted() {
        return None;
    }
    let mut order: Vec<u32> = indices(names.len()).collect();
    order.sort_unstable_by_key(|&item| names[item as usize]);
    let mut places = vec![0; names.len()];
    for (place, &item) in indices(names.len()).zip(&order) {
        places[item as usize] = place;
    }
    Some(places)
}
