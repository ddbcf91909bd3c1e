//! The orders in which a search considers the items.

use std::cmp::Reverse;

use super::instance::Instance;
use crate::adjacency::{index, indices};
use crate::random::Random;
use crate::work::Work;

/// The items' sort keys. `MiniMalloc` tries the same three sort orders in succession.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Heuristic {
    /// Sorts items by lifetime, then by area, then by crowded sections.
    WidthAreaTotal,
    /// Sorts items by crowded sections, then by area, then by lifetime.
    TotalAreaWidth,
    /// Sorts items by crowded sections, then by lifetime, then by area.
    TotalWidthArea,
}

/// All heuristics.
pub(crate) const HEURISTICS: [Heuristic; 3] =
    [Heuristic::WidthAreaTotal, Heuristic::TotalAreaWidth, Heuristic::TotalWidthArea];

/// The heuristics for which another search recomputes the order for each part of the problem.
const RENEWED: [Heuristic; 2] = [Heuristic::TotalAreaWidth, Heuristic::TotalWidthArea];

/// The number of orders for searches without random choices.
pub(crate) const LASTING: usize = HEURISTICS.len() + RENEWED.len();

/// Computes the ranks of items.
#[derive(Debug)]
pub(crate) struct Ranker<'a> {
    instance: &'a Instance,
    /// The total size of each section's items, in bytes.
    totals: Vec<u64>,
}

impl<'a> Ranker<'a> {
    /// Creates a ranker for an instance's items.
    // Uncounted: the loop needs no counter because the function makes only one pass over the
    // instance. An instance contains up to 4,000,000 pairs of conflicting items.
    pub(crate) fn new(instance: &'a Instance) -> Self {
        let size = |&item: &u32| instance.items[item as usize].size;
        let total = |section| instance.sections.row(section).iter().map(size).sum();
        Self { instance, totals: (0..instance.section_count).map(total).collect() }
    }

    /// Returns one of the [`LASTING`] orders for searches without random choices. All heuristics'
    /// orders come first. The orders recomputed for each part of the problem come last.
    pub(crate) fn lasting(&self, number: usize) -> Ranks {
        let sorted = |heuristic| self.sorted(heuristic, &self.totals, |key| key);
        match HEURISTICS.get(number) {
            Some(&heuristic) => Ranks { shapes: None, ..sorted(heuristic) },
            None => sorted(RENEWED[number - HEURISTICS.len()]),
        }
    }

    /// Returns a heuristic's order after randomly increasing or decreasing each key by up to half
    /// of `noise`. If `failures` is given, the heuristic treats the sections with the most failures
    /// as the most crowded.
    pub(crate) fn blurred(
        &self,
        heuristic: Heuristic,
        failures: Option<&[u64]>,
        noise: f64,
        random: &mut Random,
    ) -> Ranks {
        let blur = |key| blurred(key, 1.0 + noise * (random.fraction() - 0.5));
        Ranks { shapes: None, ..self.sorted(heuristic, failures.unwrap_or(&self.totals), blur) }
    }

    // Uncounted: the loop needs no counter because the function sorts the items only once.
    fn sorted(
        &self,
        heuristic: Heuristic,
        totals: &[u64],
        mut blur: impl FnMut(u128) -> u128,
    ) -> Ranks {
        let instance = self.instance;
        let count = instance.items.len();
        let (mut keys, mut shapes) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for item in 0..count {
            let total = crowd(instance, totals, item).into();
            let width = u128::from(instance.durations[item]);
            let area = u128::from(instance.items[item].size) * width;
            let (key, shape) = match heuristic {
                Heuristic::WidthAreaTotal => ((blur(width), area, total), (0, 0)),
                Heuristic::TotalAreaWidth => by_total(total, (blur(area), width)),
                Heuristic::TotalWidthArea => by_total(total, (blur(width), area)),
            };
            keys.push(key);
            shapes.push(shape);
        }
        let mut order: Vec<u32> = indices(count).collect();
        order.sort_by_key(|&item| Reverse(keys[item as usize]));
        let mut ranks = vec![0; count];
        for (rank, &item) in order.iter().enumerate() {
            ranks[item as usize] = index(rank);
        }
        Ranks { ranks, shapes: Some(shapes) }
    }
}

/// Returns an item's sort key for an order in which the items in crowded sections come first. The
/// second value that the function returns is the part of the key that never changes.
fn by_total(total: u128, shape: (u128, u128)) -> ((u128, u128, u128), (u128, u128)) {
    ((total, shape.0, shape.1), shape)
}

/// Returns the maximum of the given numbers over all sections that contain an item.
// Uncounted: the loop needs no counter because `renew` counts the sections. All other callers make
// only one pass over the instance.
fn crowd(instance: &Instance, numbers: &[u64], item: usize) -> u64 {
    let sections = instance.sections_of.row(item).iter();
    sections.map(|&section| numbers[section as usize]).max().unwrap_or(0)
}

/// The order in which a search tries the items.
#[derive(Clone, Debug)]
pub(crate) struct Ranks {
    /// The rank of each item. The item with rank 0 is tried first.
    ranks: Vec<u32>,
    /// The keys that break ties between items in equally crowded sections. Orders that begin with
    /// the items in crowded sections use these keys. As items are placed, the most crowded sections
    /// change.
    shapes: Option<Vec<(u128, u128)>>,
}

impl Ranks {
    /// Returns an item's rank.
    pub(super) fn of(&self, item: u32) -> u32 {
        self.ranks[item as usize]
    }

    /// Sorts the items in one part, given the total size of each section's unplaced items. If the
    /// order has changed, the function updates the items' ranks and appends their former ranks to
    /// `before`.
    pub(super) fn renew(
        &mut self,
        instance: &Instance,
        open: &[u64],
        items: &mut [u32],
        before: &mut Vec<(u32, u32)>,
        work: &Work,
    ) {
        let Some(shapes) = &self.shapes else { return };
        items.sort_by_cached_key(|&item| {
            work.over(instance.sections_of.row(item as usize));
            let total = crowd(instance, open, item as usize);
            (Reverse((total, shapes[item as usize])), item)
        });
        for (rank, &item) in indices(items.len()).zip(&*items) {
            before.push((item, self.ranks[item as usize]));
            self.ranks[item as usize] = rank;
        }
    }

    /// Restores the previous rank of an item.
    pub(super) fn restore(&mut self, item: u32, rank: u32) {
        self.ranks[item as usize] = rank;
    }

    /// Returns `true` if the order is recomputed for each part of the problem.
    pub(super) fn is_renewed(&self) -> bool {
        self.shapes.is_some()
    }
}

/// Multiplies a key by a factor close to 1. The result has four additional low-order bits so that
/// the factor also changes small keys.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "keys are positive and only compared"
)]
fn blurred(key: u128, factor: f64) -> u128 {
    (key as f64 * factor * 16.0) as u128
}
