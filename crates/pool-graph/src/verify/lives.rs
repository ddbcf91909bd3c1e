//! The lives of regions by the edges of a graph: the last uses of each region.

use super::lists::Lists;
use super::regions::Regions;

/// The last uses of each region of a layout.
#[derive(Debug)]
pub(super) struct Lives {
    /// `true` if the edges confirm the layout of a region. Otherwise it is ordered with no other
    /// one.
    shown: Vec<bool>,
    /// The places of the last uses of each region.
    ends: Lists,
}

impl Lives {
    /// Computes the lives of regions that are used until the nodes of their layout, except for
    /// nodes that are not uses.
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

    /// Returns the places of the last uses of a region; empty without a use.
    pub(super) fn ends(&self, region: usize) -> &[usize] {
        self.ends.of(region)
    }

    /// Returns the highest place of a region's last uses; 0 without a use.
    pub(super) fn last(&self, region: usize) -> usize {
        self.ends(region).iter().copied().max().unwrap_or(0)
    }
}
