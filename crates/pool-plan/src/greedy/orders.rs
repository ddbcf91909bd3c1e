//! The orders in which greedy plans take the buffers.

use crate::adjacency::indices;
use crate::heuristic::{GreedyFit, GreedyHeuristic, GreedyOrder};
use crate::sorting::{sort_by_number, unsigned};
use crate::work::Watch;

/// The number of buffers up to which ties are also broken by name instead of by place in the
/// problem.
const MOST_NAMED: usize = 1 << 12;

/// An order, and the rule that selects among free ranges.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    /// The items, first to last.
    pub(crate) items: Vec<u32>,
    /// The rule by which a free range is taken.
    pub(crate) fit: GreedyFit,
    /// `true` if no item starts before an earlier one.
    pub(crate) is_by_start: bool,
    /// `true` if gaps of lifetimes may be taken for live, and fixed offsets for always in use,
    /// which takes less time.
    pub(crate) is_rough: bool,
}

/// The order of items that a greedy order leaves tied.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Ties {
    /// The longest or largest item comes first, so that smaller ones can fill the gaps.
    Large,
    /// The item that starts first comes first, as in a textbook; then the one that the problem
    /// lists first.
    Place,
    /// The item that starts first comes first, then the one whose name comes first.
    Name,
    /// Same as `Place`, for lifetimes without their gaps.
    Rough,
}

/// The recipe of a greedy plan: a heuristic, with a rule for ties.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Recipe {
    heuristic: GreedyHeuristic,
    ties: Ties,
}

/// The ranks of items by breadth, unless the watch stops it: the lowest rank comes first.
pub(crate) type Breadth<'a> = &'a (dyn Fn(&Watch<'_>) -> Option<Vec<u32>> + Sync);

/// The numbers from which orders are made, one of each kind for each item.
pub(crate) struct Measures<'a> {
    /// The bytes of the item.
    pub(crate) sizes: Vec<u64>,
    /// For each item, the time for which it blocks others.
    pub(crate) durations: Vec<u64>,
    /// For each item, the time at which it is first needed.
    pub(crate) begins: Vec<i64>,
    /// For each item, the time at which it is no longer needed.
    pub(crate) ends: Vec<i64>,
    /// For each item, the number of others that it blocks.
    pub(crate) degrees: Vec<u64>,
    /// The place in the list of times, broadest first, at which the item is first live.
    pub(crate) breadth: Breadth<'a>,
    /// The items in the order of their starts.
    pub(crate) by_begin: Vec<u32>,
    /// The place of the item in the order of names, if that differs from the problem's.
    pub(crate) named: Option<Vec<u32>>,
    /// `true` if some lifetimes have gaps or some offsets are fixed, so that a rough plan is made
    /// first.
    pub(crate) has_rough_plan: bool,
    /// The offsets of items in an earlier plan, if they had one. The list may end before the last items.
    pub(crate) last: &'a [Option<u64>],
}

impl Recipe {
    /// Returns `true` if this recipe makes the plan of a textbook heuristic, with one of the
    /// readings of its last tie.
    pub(crate) fn is_of(&self, heuristic: GreedyHeuristic) -> bool {
        self.heuristic == heuristic && self.is_textbook()
    }

    /// Returns `true` if this recipe makes the plan of some textbook heuristic.
    pub(crate) fn is_textbook(&self) -> bool {
        matches!(self.ties, Ties::Place | Ties::Name)
    }

    /// Returns the recipe with the other reading of the last tie, if this one uses names.
    pub(crate) fn by_place(&self) -> Option<Self> {
        (self.ties == Ties::Name).then_some(Self { ties: Ties::Place, ..*self })
    }
}

impl Measures<'_> {
    /// Returns the recipes of a portfolio: first the fastest, then the textbook heuristics, in the
    /// order of their success on most problems, and then others.
    // Uncounted: a few dozen recipes.
    pub(crate) fn recipes(&self) -> Vec<Recipe> {
        use GreedyFit::{Best, First};
        use GreedyOrder::{Area, Breadth, Conflicts, End, Lifetime, Size, Start};
        use Ties::{Large, Name, Place, Rough};
        let recipe =
            |(order, fit, ties)| Recipe { heuristic: GreedyHeuristic { order, fit }, ties };
        let rough = self.has_rough_plan.then_some((Start, Best, Rough));
        let by_place = [
            // It needs only the free ranges of one time, so it is the fastest.
            (Start, Best, Place),
            // Then the one that lowers the mean peak most, over 149 problems of 30 families, given
            // those before it.
            (Size, First, Place),
            // It is in no textbook, but on most problems it is better than each textbook heuristic.
            (Size, Best, Large),
            (End, First, Place),
            (Area, First, Place),
            (Lifetime, First, Place),
            (Breadth, Best, Place),
            (End, Best, Place),
            (Conflicts, First, Place),
            (Size, Best, Place),
            (Breadth, First, Place),
            (Area, Best, Place),
            (Start, First, Place),
            (Lifetime, Best, Place),
            (Conflicts, Best, Place),
        ];
        let by_name = GreedyHeuristic::ALL.map(|one| (one.order, one.fit, Name));
        let by_name = self.named.iter().flat_map(|_| by_name);
        let others = [
            (Lifetime, Best, Large),
            (Area, Best, Large),
            (Size, First, Large),
            (Area, First, Large),
            (Lifetime, First, Large),
            (Start, Best, Large),
            (Start, First, Large),
        ];
        rough.into_iter().chain(by_place).chain(by_name).chain(others).map(recipe).collect()
    }

    /// Returns the order of a recipe; `None` if `watch` stopped it.
    pub(crate) fn order(&self, recipe: Recipe, watch: &Watch<'_>) -> Option<Order> {
        use GreedyOrder::{Area, Breadth, Conflicts, End, Lifetime, Size, Start};
        let GreedyHeuristic { order, fit } = recipe.heuristic;
        let mut items = self.by_begin.clone();
        let at = |item: u32| item as usize;
        // Each sort is stable, so that the last one counts most.
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

    /// Returns the order of offsets in an earlier plan, if there is one. New items come last, the
    /// largest first.
    ///
    /// An item in the lowest free range is no higher than it was: the items placed before it are no
    /// higher than they were, and each of them that conflicts with it was below it. So without new
    /// items the plan is no worse than the earlier one.
    // Uncounted: one pass over a plan that is given.
    pub(crate) fn last_order(&self) -> Option<Order> {
        let last = |item: usize| self.last.get(item).copied().flatten();
        let is_any = self.last.iter().any(Option::is_some);
        is_any.then(|| self.order_by(&|item| last(item).unwrap_or(u64::MAX)))
    }

    /// Returns the order of offsets in a plan, the largest of equal ones first. The plan that a
    /// placer makes of it is no worse.
    // Uncounted: two sorts, once for a plan that is given.
    pub(crate) fn order_by(&self, offset: &dyn Fn(usize) -> u64) -> Order {
        let mut items = self.by_begin.clone();
        let watch = Watch::new(&|| true);
        sort_by_number(&mut items, |item| !self.sizes[item as usize], &watch);
        sort_by_number(&mut items, |item| offset(item as usize), &watch);
        Order { items, fit: GreedyFit::First, is_by_start: false, is_rough: false }
    }

    /// Returns the product of an item's size and lifetime: [the lower 64 bits, the higher ones].
    #[expect(clippy::cast_possible_truncation, reason = "the halves of a number")]
    fn area(&self, item: usize) -> [u64; 2] {
        let area = u128::from(self.sizes[item]) * u128::from(self.durations[item]);
        [area as u64, (area >> 64) as u64]
    }
}

/// Returns the place of each name in their order, if that differs from the given order. Returns
/// `None` if there are too many names for a second plan of each heuristic.
// Uncounted: up to 4,096 names.
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
