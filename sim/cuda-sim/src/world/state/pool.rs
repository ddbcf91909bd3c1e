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
    /// The limit in bytes; 0 is no limit.
    pub(in crate::world) maximum: usize,
    pub(in crate::world) threshold: u64,
    /// Bytes taken from the device, and their peak.
    pub(crate) reserved: usize,
    pub(in crate::world) reserved_high: usize,
    /// Bytes allocated, and their peak.
    pub(in crate::world) used: usize,
    pub(in crate::world) used_high: usize,
    pub(in crate::world) free: Vec<Freed>,
    /// Policies by which freed memory is reused on other streams: after an event, after its free
    /// has run, and by a dependency that the driver adds if there is no other memory.
    pub(in crate::world) reuse: [u32; 3],
    /// Other devices whose kernels may use its memory.
    pub(in crate::world) readers: BTreeSet<usize>,
}

/// A range of addresses that was freed.
#[derive(Clone, Debug)]
pub(in crate::world) struct Freed {
    pub(in crate::world) address: u64,
    pub(in crate::world) len: usize,
    /// The moment at which it is free; `None` if it is already.
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

    /// Releases pages, down to `keep` and to the pages needed.
    pub(in crate::world) fn shrink(&mut self, keep: usize) {
        let keep = keep.checked_next_multiple_of(PAGE).unwrap_or(usize::MAX);
        self.reserved = self.reserved.min(self.needed().max(keep));
    }

    /// Returns the pages for used memory and for memory with a pending free.
    pub(in crate::world) fn needed(&self) -> usize {
        let pending = self.free.iter().filter(|freed| freed.moment.is_some());
        let bytes = self.used + pending.map(|freed| freed.len).sum::<usize>();
        bytes.next_multiple_of(PAGE)
    }
}
