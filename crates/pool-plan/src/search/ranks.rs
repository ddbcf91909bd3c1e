//! The order in which the search tries several possible items.

use std::cmp::Reverse;

use super::instance::Instance;
use crate::adjacency::{index, indices};
use crate::random::Random;

/// The properties that make an item come early: the three orders that `MiniMalloc` takes in turn.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Heuristic {
    /// Long lifetimes, then area, then crowded sections.
    WidthAreaTotal,
    /// Crowded sections, then area, then long lifetimes.
    TotalAreaWidth,
    /// Crowded sections, then long lifetimes, then area.
    TotalWidthArea,
}

/// All heuristics.
pub(crate) const HEURISTICS: [Heuristic; 3] =
    [Heuristic::WidthAreaTotal, Heuristic::TotalAreaWidth, Heuristic::TotalWidthArea];

/// Turns items into ranks.
#[derive(Debug)]
pub(crate) struct Ranker<'a> {
    instance: &'a Instance,
    /// Bytes of all items of a section.
    totals: Vec<u64>,
}

impl<'a> Ranker<'a> {
    /// A ranker of an instance's items.
    pub(crate) fn new(instance: &'a Instance) -> Self {
        let size = |&item: &u32| instance.items[item as usize].size;
        let total = |section| instance.sections.row(section).iter().map(size).sum();
        Self { instance, totals: (0..instance.section_count).map(total).collect() }
    }

    /// The rank of each item, 0 first.
    pub(crate) fn ranks(&self, heuristic: Heuristic) -> Vec<u32> {
        self.sorted(heuristic, &self.totals, |key| key)
    }

    /// The rank of each item, with keys blurred by up to half of `noise` either way, and crowded
    /// sections replaced by those with most `failures`, if any are given.
    pub(crate) fn blurred(
        &self,
        heuristic: Heuristic,
        failures: Option<&[u64]>,
        noise: f64,
        random: &mut Random,
    ) -> Vec<u32> {
        let blur = |key| blurred(key, 1.0 + noise * (random.fraction() - 0.5));
        self.sorted(heuristic, failures.unwrap_or(&self.totals), blur)
    }

    fn sorted(
        &self,
        heuristic: Heuristic,
        totals: &[u64],
        mut blur: impl FnMut(u128) -> u128,
    ) -> Vec<u32> {
        let instance = self.instance;
        let count = instance.items.len();
        let mut keys = Vec::with_capacity(count);
        for item in 0..count {
            let sections = instance.sections_of.row(item).iter();
            let total = sections.map(|&one| totals[one as usize]).max().unwrap_or(0).into();
            let width = u128::from(instance.durations[item]);
            let area = u128::from(instance.items[item].size) * width;
            keys.push(match heuristic {
                Heuristic::WidthAreaTotal => (blur(width), area, total),
                Heuristic::TotalAreaWidth => (total, blur(area), width),
                Heuristic::TotalWidthArea => (total, blur(width), area),
            });
        }
        let mut order: Vec<u32> = indices(count).collect();
        order.sort_by_key(|&item| Reverse(keys[item as usize]));
        let mut ranks = vec![0; count];
        for (rank, &item) in order.iter().enumerate() {
            ranks[item as usize] = index(rank);
        }
        ranks
    }
}

/// A key times a factor near 1, with some bits more so that small keys differ too.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "keys are positive and only compared"
)]
fn blurred(key: u128, factor: f64) -> u128 {
    (key as f64 * factor * 16.0) as u128
}
