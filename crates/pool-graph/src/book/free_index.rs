//! The index of free regions for best fit. It consists of one list for each exact size, and a
//! [`Bitmap`] of the sizes whose lists are not empty. The smallest region that fits is therefore
//! found without a search. Regions larger than a chunk are rare. They are in a sorted list whose
//! capacity is enough for all possible ones.
//!
//! Among regions of the same size, the newest is taken first.

use pool_core::reserve::Reserve;

use super::bitmap::Bitmap;
use super::region::{ChunkRegion, NONE, State};
use crate::base::request::{CHUNK, GRANULE, Request};

/// The size, in granules, of the largest region in the lists.
const LISTED: usize = (CHUNK / GRANULE) as usize;

/// A free region that is larger than a chunk: its size, address and slot.
pub(super) type Large = (u64, u64, u32);

/// The free regions, by size.
#[derive(Debug)]
pub(super) struct FreeIndex {
    /// The newest free region of each size. Sizes are counted in granules.
    newest: Vec<u32>,
    /// The sizes whose list is not empty.
    sizes: Bitmap,
    /// The free regions that are larger than a chunk, sorted.
    large: Vec<Large>,
}

impl FreeIndex {
    pub(super) fn new() -> Self {
        Self { newest: vec![NONE; LISTED + 1], sizes: Bitmap::new(LISTED + 1), large: Vec::new() }
    }

    /// Returns the capacity that is missing for `largest` regions larger than a chunk.
    pub(super) fn lacks(&self, largest: usize) -> Option<usize> {
        self.large.lacking(largest.saturating_sub(self.large.len()))
    }

    /// Moves the list to the reserved memory in `room`.
    pub(super) fn put(&mut self, room: &mut Vec<Large>) {
        self.large.move_to(room);
    }

    /// Returns the position of a region larger than a chunk, or the position at which to insert it.
    fn place_of(&self, large: &Large) -> usize {
        self.large.partition_point(|other| other < large)
    }

    /// Inserts a region. Its links then belong to the list of its size.
    pub(super) fn insert(&mut self, regions: &mut [ChunkRegion], slot: u32) {
        let region = regions[slot as usize];
        let Some(size) = granules(region.bytes) else {
            let large = (region.bytes, region.address, slot);
            self.large.insert(self.place_of(&large), large);
            return;
        };
        let older = std::mem::replace(&mut self.newest[size], slot);
        regions[slot as usize].state = State::Free { newer: NONE, older };
        if older == NONE {
            self.sizes.insert(size);
        } else {
            set_newer(regions, older, slot);
        }
    }

    /// Removes a region.
    pub(super) fn remove(&mut self, regions: &mut [ChunkRegion], slot: u32) {
        let region = regions[slot as usize];
        let Some(size) = granules(region.bytes) else {
            let large = (region.bytes, region.address, slot);
            let place = self.place_of(&large);
            if self.large.get(place) == Some(&large) {
                self.large.remove(place);
            }
            return;
        };
        let State::Free { newer, older } = region.state else { return };
        if older != NONE {
            set_newer(regions, older, newer);
        }
        if newer != NONE {
            set_older(regions, newer, older);
            return;
        }
        self.newest[size] = older;
        if older == NONE {
            self.sizes.remove(size);
        }
    }

    /// Returns the smallest region that the request fits into.
    pub(super) fn best_fit(&self, regions: &[ChunkRegion], request: &Request) -> Option<u32> {
        self.listed_fit(regions, request).or_else(|| self.large_fit(request))
    }

    /// Removes every region. The links of the regions become meaningless.
    pub(super) fn clear(&mut self) {
        while let Some(size) = self.sizes.at_least(0) {
            self.sizes.remove(size);
            self.newest[size] = NONE;
        }
        self.large.clear();
    }

    /// Finds a listed region. If the alignment is a granule, a region of the first size fits.
    /// Otherwise a region may be large enough but misaligned. A region that is large enough for any
    /// alignment always ends the search.
    fn listed_fit(&self, regions: &[ChunkRegion], request: &Request) -> Option<u32> {
        let mut size = self.sizes.at_least(granules(request.bytes)?);
        while let Some(found) = size {
            let mut slot = self.newest[found];
            while slot != NONE {
                let region = &regions[slot as usize];
                if request.padding(region.address, region.bytes).is_some() {
                    return Some(slot);
                }
                slot = match region.state {
                    State::Free { older, .. } => older,
                    _ => NONE,
                };
            }
            size = self.sizes.at_least(found + 1);
        }
        None
    }

    fn large_fit(&self, request: &Request) -> Option<u32> {
        let from = (request.bytes, 0, NONE);
        let fits = |&&(bytes, address, _): &&Large| request.padding(address, bytes).is_some();
        self.large[self.place_of(&from)..].iter().find(fits).map(|&(_, _, slot)| slot)
    }
}

/// Returns the maximum number of free regions larger than a chunk that fit in `bytes` bytes.
pub(super) fn largest_in(bytes: u64) -> u64 {
    bytes / (CHUNK + GRANULE)
}

/// Returns the size in granules, or `None` if regions of that size are not listed.
fn granules(bytes: u64) -> Option<usize> {
    usize::try_from(bytes / GRANULE).ok().filter(|&size| size <= LISTED)
}

fn set_newer(regions: &mut [ChunkRegion], slot: u32, value: u32) {
    if let State::Free { newer, .. } = &mut regions[slot as usize].state {
        *newer = value;
    }
}

fn set_older(regions: &mut [ChunkRegion], slot: u32, value: u32) {
    if let State::Free { older, .. } = &mut regions[slot as usize].state {
        *older = value;
    }
}
