//! Peers: kernels of which devices may reach memory of which others. Plain memory is opened from one context to
//! another, that of a memory pool for a device; neither opens the other ("Peer access", "Device accessibility for
//! multi-GPU support" in the CUDA Programming Guide).

use std::collections::BTreeSet;

use super::memory::{Origin, Region};

/// What was opened.
#[derive(Debug)]
pub(crate) struct Peers {
    /// Whether devices can reach each other's memory at all.
    pub(in crate::world) can_be: bool,
    /// Pairs of contexts: who reaches, and whose memory.
    pub(in crate::world) enabled: BTreeSet<(usize, usize)>,
}

/// What kernels of a device may reach on others.
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
                // Those of pages are asked elsewhere, those of graphs cannot be given here.
                Origin::Mapped { .. } | Origin::Pinned | Origin::Registered => true,
                Origin::Graph => false,
            }
    }

    /// What is to be said of a region that is out of reach.
    pub(in crate::world) fn refusal(&self, region: &Region) -> String {
        let (owner, device) = (region.device, self.device);
        format!("{region} is of device {owner}, which gave device {device} no access")
    }
}

impl Peers {
    pub(in crate::world) fn new(can_be: bool) -> Self {
        Self { can_be, enabled: BTreeSet::new() }
    }

    /// A context ends, and what it opened and was opened to it.
    pub(in crate::world) fn forget(&mut self, device: usize) {
        self.enabled.retain(|&(reader, owner)| reader != device && owner != device);
    }
}
