//! The regions' lifetimes, derived from the graph's edges.

use super::lists::Lists;
use super::regions::Regions;

/// The last uses of each region in a layout.
#[derive(Debug)]
pub(super) struct Lives {
    /// For each region, `true` if the edges confirm its layout. A region with an unconfirmed layout
    /// counts as unordered relative to every other region.
    shown: Vec<bool>,
    /// The positions of each region's last uses in the topological order.
    ends: Lists,
}

impl Lives {
    /// Computes the last uses of each region. The last uses are the nodes in the region's `until`
    /// list, except for the nodes in `none`, because those do not use the region.
    pub(super) fn new(
        regions: &Regions<'_>,
        mut none: Vec<(usize, usize)>,
        is_shown: impl Fn(usize) -> bool,
    ) -> Self {
        none.sort_unstable();
        let count = regions.layout.len();
        let all =
            || (0..count).flat_map(|one| regions.until(one).iter().map(move |&end| (one, end)));
        let ends = Lists::new(count, || all().filter(|end| none.binary_search(end).is_err()));
        Self { shown: (0..count).map(is_shown).collect(), ends }
    }

    /// Returns `true` if the edges confirm the region's layout.
    pub(super) fn is_shown(&self, region: usize) -> bool {
        self.shown[region]
    }

    /// Returns the positions of a region's last uses. The slice is empty if no node uses the
    /// region.
    pub(super) fn ends(&self, region: usize) -> &[usize] {
        self.ends.of(region)
    }

    /// Returns the highest position among a region's last uses, or 0 if no node uses the region.
    pub(super) fn last(&self, region: usize) -> usize {
        self.ends(region).iter().copied().max().unwrap_or(0)
    }
}
