//! The regions of a layout, whose nodes are given as positions in the graph's order.

use super::layout::RegionLayout;
use super::lists::Lists;
use super::order::Order;

/// The regions of a layout.
#[derive(Debug)]
pub(super) struct Regions<'a> {
    pub(super) layout: &'a [RegionLayout],
    uses: Lists,
    after: Lists,
    until: Lists,
    /// The highest positions in the lists of each region.
    last: Vec<HighestPlaces>,
}

/// The highest positions in a region's lists. The position of an empty list is 0, which follows no
/// other position.
#[derive(Clone, Copy, Debug)]
struct HighestPlaces {
    known_use: usize,
    after: usize,
    until: usize,
}

impl<'a> Regions<'a> {
    pub(super) fn new(layout: &'a [RegionLayout], order: &Order) -> Self {
        let lists = |nodes: fn(&RegionLayout) -> &[usize]| {
            Lists::new(layout.len(), || {
                let each = layout.iter().enumerate();
                each.flat_map(move |(region, one)| {
                    nodes(one).iter().map(move |&node| (region, order.place(node)))
                })
            })
        };
        let uses = lists(|one| &one.uses);
        let after = lists(|one| &one.after);
        let until = lists(|one| &one.until);
        let highest = |list: &[usize]| list.iter().copied().max().unwrap_or(0);
        let of_region = |region| HighestPlaces {
            known_use: highest(uses.of(region)),
            after: highest(after.of(region)),
            until: highest(until.of(region)),
        };
        let last = (0..layout.len()).map(of_region).collect();
        Self { layout, uses, after, until, last }
    }

    /// Returns the positions of a region's known uses.
    pub(super) fn uses(&self, region: usize) -> &[usize] {
        self.uses.of(region)
    }

    /// Returns the positions that all uses of a region follow.
    pub(super) fn after(&self, region: usize) -> &[usize] {
        self.after.of(region)
    }

    /// Returns the positions in a region's `until` list.
    pub(super) fn until(&self, region: usize) -> &[usize] {
        self.until.of(region)
    }

    /// Returns the highest position in a region's `until` list, or 0 if the list is empty.
    pub(super) fn last_until(&self, region: usize) -> usize {
        self.last[region].until
    }

    /// Returns the highest position of a region's known uses.
    pub(super) fn last_known_use(&self, region: usize) -> usize {
        self.last[region].known_use
    }

    /// Returns the highest position that the uses of a region follow.
    pub(super) fn last_beginning(&self, region: usize) -> usize {
        self.last[region].after
    }

    /// Returns the regions that share bytes with other regions, in ascending order.
    pub(super) fn sharing(&self) -> Vec<usize> {
        let layout = self.layout;
        let mut by_offset: Vec<usize> =
            (0..layout.len()).filter(|&region| layout[region].bytes > 0).collect();
        by_offset.sort_by_key(|&region| layout[region].offset);
        let (mut sharing, mut furthest) = (Vec::new(), None);
        for &region in &by_offset {
            // The region that ends last, among the regions with a lower offset.
            let before =
                furthest.filter(|&other: &usize| layout[other].shares_with(&layout[region]));
            sharing.extend(before.into_iter().chain(before.map(|_| region)));
            if furthest.is_none_or(|other| layout[other].end() < layout[region].end()) {
                furthest = Some(region);
            }
        }
        sharing.sort_unstable();
        sharing.dedup();
        sharing
    }
}
