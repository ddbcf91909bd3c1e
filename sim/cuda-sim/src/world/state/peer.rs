//! State of peer access.

use std::collections::BTreeSet;

use super::memory::{Origin, Region};

/// The accesses that were enabled.
#[derive(Debug)]
pub(crate) struct Peers {
    /// `true` if devices can reach each other's memory at all.
    pub(in crate::world) can_be: bool,
    /// Pairs of contexts: the accessing one, and the owner of the memory.
    pub(in crate::world) enabled: BTreeSet<(usize, usize)>,
}

/// The memory of other devices that a device's kernels may reach.
#[derive(Debug)]
pub(crate) struct Reach {
    pub(in crate::world) device: usize,
    /// Devices with plain memory.
    pub(in crate::world) plain: Vec<usize>,
    pub(in crate::world) pools: Vec<usize>,
}

impl Reach {
    pub(in crate::world) fn allows(&self, region: &Region) -> bool {
        region.device == self.device
            || match region.origin {
                Origin::Plain | Origin::Module => self.plain.contains(&region.device),
                Origin::Pool(pool) => self.pools.contains(&pool),
                // Access to pages is checked elsewhere, and access to graph memory cannot be
                // enabled here.
                Origin::Mapped { .. } | Origin::Pinned | Origin::Registered => true,
                Origin::Graph => false,
            }
    }

    /// Describes a region that is out of reach.
    pub(in crate::world) fn refusal(&self, region: &Region) -> String {
        let (owner, device) = (region.device, self.device);
        format!("{region} is of device {owner}, which gave device {device} no access")
    }
}

impl Peers {
    pub(in crate::world) fn new(can_be: bool) -> Self {
        Self { can_be, enabled: BTreeSet::new() }
    }

    /// Removes the accesses that a context enabled, and those enabled for it, when it ends.
    pub(in crate::world) fn forget(&mut self, device: usize) {
        self.enabled.retain(|&(reader, owner)| reader != device && owner != device);
    }
}
