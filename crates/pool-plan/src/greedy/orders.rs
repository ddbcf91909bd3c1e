//! The orders in which greedy plans take the buffers.

use std::cmp::Reverse;

use super::ranges::Fit;
use crate::order::indices;

/// An order, and how to choose among free ranges.
pub(crate) struct Order {
    /// What the order is called in results.
    pub(crate) name: &'static str,
    /// The items, first to last.
    pub(crate) items: Vec<u32>,
    /// Which free range to take.
    pub(crate) fit: Fit,
}

/// The orders of a portfolio, from sizes, lifetimes and beginnings of the items.
pub(crate) fn orders(
    size: impl Fn(usize) -> u64,
    duration: impl Fn(usize) -> u64,
    begin: impl Fn(usize) -> usize,
    count: usize,
) -> Vec<Order> {
    let area = |one: usize| u128::from(size(one)) * u128::from(duration(one));
    let sorted = |key: &dyn Fn(usize) -> (u128, u128, usize)| {
        let mut items: Vec<u32> = indices(count).collect();
        items.sort_by_cached_key(|&one| Reverse(key(one as usize)));
        items
    };
    let by_size = sorted(&|one| (size(one).into(), duration(one).into(), usize::MAX - begin(one)));
    let by_area = sorted(&|one| (area(one), size(one).into(), usize::MAX - begin(one)));
    let by_lifetime =
        sorted(&|one| (duration(one).into(), size(one).into(), usize::MAX - begin(one)));
    let by_time = sorted(&|one| ((usize::MAX - begin(one)) as u128, size(one).into(), 0));
    vec![
        Order { name: "size", items: by_size.clone(), fit: Fit::Best },
        Order { name: "area", items: by_area.clone(), fit: Fit::Best },
        Order { name: "lifetime", items: by_lifetime.clone(), fit: Fit::Best },
        Order { name: "size, lowest", items: by_size, fit: Fit::Lowest },
        Order { name: "area, lowest", items: by_area, fit: Fit::Lowest },
        Order { name: "lifetime, lowest", items: by_lifetime, fit: Fit::Lowest },
        Order { name: "time", items: by_time.clone(), fit: Fit::Best },
        Order { name: "time, lowest", items: by_time, fit: Fit::Lowest },
    ]
}
