//! The regions of a layout. The module identifies a region's nodes by their positions in the
//! topological order.

use super::layout::RegionLayout;
use super::lists::Lists;
use super::order::Order;

/// A layout's regions and the positions of the nodes to which they refer.
#[derive(Debug)]
pub(super) struct Regions<'a> {
    pub(super) layout: &'a [RegionLayout],
    uses: Lists,
    after: Lists,
    until: Lists,
    /// For each region, the highest position in each of its lists.
    last: Vec<HighestPlaces>,
}

/// The highest position in each of a region's lists, or 0 for an empty list. For an empty list, 0
/// is correct because position 0 does not follow any other position.
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

    /// Returns the positions of the region's known uses.
    pub(super) fn uses(&self, region: usize) -> &[usize] {
        self.uses.of(region)
    }

    /// Returns the positions in the region's `after` list. All uses of the region follow these
    /// positions.
    pub(super) fn after(&self, region: usize) -> &[usize] {
        self.after.of(region)
    }

    /// Returns the positions in the region's `until` list.
    pub(super) fn until(&self, region: usize) -> &[usize] {
        self.until.of(region)
    }

    /// Returns the highest position in the region's `until` list, or 0 if the list is empty.
    pub(super) fn last_until(&self, region: usize) -> usize {
        self.last[region].until
    }

    /// Returns the highest position among the region's known uses, or 0 if it has none.
    pub(super) fn last_known_use(&self, region: usize) -> usize {
        self.last[region].known_use
    }

    /// Returns the highest position in the region's `after` list, or 0 if the list is empty.
    pub(super) fn last_beginning(&self, region: usize) -> usize {
        self.last[region].after
    }

    /// Returns all regions that share bytes with another region, in ascending order.
    pub(super) fn sharing(&self) -> Vec<usize> {
        let layout = self.layout;
        let mut by_offset: Vec<usize> =
            (0..layout.len()).filter(|&region| layout[region].bytes > 0).collect();
        by_offset.sort_by_key(|&region| layout[region].offset);
        let (mut sharing, mut furthest) = (Vec::new(), None);
        for &region in &by_offset {
            // `furthest` is the region that ends last among the regions with lower offsets.
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
