//! The orders in which greedy plans take the buffers.

use std::cmp::Reverse;

use super::ranges::Fit;
use crate::adjacency::indices;

/// An order, and how to choose among free ranges.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    /// The items, first to last.
    pub(crate) items: Vec<u32>,
    /// The rule by which a free range is taken.
    pub(crate) fit: Fit,
}

/// The numbers that orders are made of, one of each kind for each item.
#[derive(Debug)]
pub(crate) struct Measures {
    /// The bytes of the item.
    pub(crate) sizes: Vec<u64>,
    /// How long the item is in the way of others.
    pub(crate) durations: Vec<u64>,
    /// When the item is first needed.
    pub(crate) begins: Vec<usize>,
}

/// The orders of a portfolio, the ones that are best for most problems first.
///
/// Ties matter: equal sizes are taken longest first, which leaves the short-lived ones to fill
/// what is free between them.
pub(crate) fn orders(measures: &Measures) -> Vec<Order> {
    let Measures { sizes, durations, begins } = measures;
    let sorted = |key: &dyn Fn(usize) -> (Reverse<u128>, Reverse<u128>, usize)| {
        let mut items: Vec<u32> = indices(sizes.len()).collect();
        items.sort_by_cached_key(|&one| key(one as usize));
        items
    };
    let wide = |value: u64| Reverse(u128::from(value));
    let area = |one: usize| Reverse(u128::from(sizes[one]) * u128::from(durations[one]));
    let by_size = sorted(&|one| (wide(sizes[one]), wide(durations[one]), begins[one]));
    let by_area = sorted(&|one| (area(one), wide(sizes[one]), begins[one]));
    let by_lifetime = sorted(&|one| (wide(durations[one]), wide(sizes[one]), begins[one]));
    let mut by_time: Vec<u32> = indices(sizes.len()).collect();
    by_time.sort_by_key(|&one| (begins[one as usize], Reverse(sizes[one as usize])));
    vec![
        Order { items: by_size.clone(), fit: Fit::Best },
        Order { items: by_area.clone(), fit: Fit::Best },
        Order { items: by_lifetime.clone(), fit: Fit::Best },
        Order { items: by_size, fit: Fit::Lowest },
        Order { items: by_area, fit: Fit::Lowest },
        Order { items: by_lifetime, fit: Fit::Lowest },
        Order { items: by_time.clone(), fit: Fit::Best },
        Order { items: by_time, fit: Fit::Lowest },
    ]
}
