//! State of memory pools.

use std::collections::BTreeSet;

use super::event::Moment;
use super::memory::PAGE;

/// A pool.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) device: usize,
    pub(crate) lives: bool,
    pub(in crate::world) is_default: bool,
    /// The limit in bytes, or 0 if there is no limit.
    pub(in crate::world) maximum: usize,
    pub(in crate::world) threshold: u64,
    /// The bytes reserved from the device, and their peak.
    pub(crate) reserved: usize,
    pub(in crate::world) reserved_high: usize,
    /// The allocated bytes, and their peak.
    pub(in crate::world) used: usize,
    pub(in crate::world) used_high: usize,
    pub(in crate::world) free: Vec<Freed>,
    /// Policies for reusing freed memory on other streams: after an event, after the free has run,
    /// and, if there is no other memory, through a dependency that the driver adds.
    pub(in crate::world) reuse: [u32; 3],
    /// Other devices whose kernels may access the pool's memory.
    pub(in crate::world) readers: BTreeSet<usize>,
}

/// A range of addresses that has been freed.
#[derive(Clone, Debug)]
pub(in crate::world) struct Freed {
    pub(in crate::world) address: u64,
    pub(in crate::world) len: usize,
    /// The moment from which the range is free, or `None` if the free has already finished.
    pub(in crate::world) moment: Option<Moment>,
}

impl Pool {
    pub(crate) fn new(device: usize, maximum: usize, is_default: bool) -> Self {
        Self {
            device,
            lives: true,
            is_default,
            maximum,
            threshold: 0,
            reserved: 0,
            reserved_high: 0,
            used: 0,
            used_high: 0,
            free: Vec::new(),
            reuse: [1; 3],
            readers: BTreeSet::new(),
        }
    }

    pub(crate) fn is_private(&self) -> bool {
        self.lives && !self.is_default
    }

    /// Releases pages until `keep` bytes or only the needed pages remain.
    pub(in crate::world) fn shrink(&mut self, keep: usize) {
        let keep = keep.checked_next_multiple_of(PAGE).unwrap_or(usize::MAX);
        self.reserved = self.reserved.min(self.needed().max(keep));
    }

    /// Returns the number of bytes in pages that are used or have a pending free.
    pub(in crate::world) fn needed(&self) -> usize {
        let pending = self.free.iter().filter(|freed| freed.moment.is_some());
        let bytes = self.used + pending.map(|freed| freed.len).sum::<usize>();
        bytes.next_multiple_of(PAGE)
    }
}
