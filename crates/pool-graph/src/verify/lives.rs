//! The lives of regions, as the edges of a graph show them: where each region is used last.

use super::lists::Lists;
use super::regions::Regions;

/// When each region of a layout is used last.
#[derive(Debug)]
pub(super) struct Lives {
    /// Whether the edges show what the layout says of a region. It is ordered with no other one where they do not.
    shown: Vec<bool>,
    /// The places of the last uses of each region.
    ends: Lists,
}

impl Lives {
    /// The lives of regions that are used until the nodes of their layout, except for some that are no uses.
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

    /// Whether the edges show what the layout says of a region.
    pub(super) fn is_shown(&self, region: usize) -> bool {
        self.shown[region]
    }

    /// The places of the last uses of a region; none of one that is not used.
    pub(super) fn ends(&self, region: usize) -> &[usize] {
        self.ends.of(region)
    }

    /// The highest place where a region is used last; 0 for one that is not used.
    pub(super) fn last(&self, region: usize) -> usize {
        self.ends(region).iter().copied().max().unwrap_or(0)
    }
}
