//! The lifetimes of regions, derived from the edges of a graph: the last uses of each region.

use super::lists::Lists;
use super::regions::Regions;

/// The last uses of each region of a layout.
#[derive(Debug)]
pub(super) struct Lives {
    /// `true` if the edges confirm the layout of a region. Otherwise the region is not ordered with
    /// any other region.
    shown: Vec<bool>,
    /// The positions of each region's last uses.
    ends: Lists,
}

impl Lives {
    /// Computes the lifetimes of the regions. The last uses of each region are the nodes of its
    /// layout, except for nodes in `none`, which are not uses.
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

    /// Returns `true` if the edges confirm the layout of a region.
    pub(super) fn is_shown(&self, region: usize) -> bool {
        self.shown[region]
    }

    /// Returns the positions of a region's last uses; empty if the region is not used.
    pub(super) fn ends(&self, region: usize) -> &[usize] {
        self.ends.of(region)
    }

    /// Returns the highest position of a region's last uses, or 0 if the region is not used.
    pub(super) fn last(&self, region: usize) -> usize {
        self.ends(region).iter().copied().max().unwrap_or(0)
    }
}
