//! The index of free regions for best-fit allocation. The index stores one list for each size and a
//! [`Bitmap`] of the sizes whose lists are not empty. The bitmap lets the index find the smallest
//! suitable region without searching all regions. Free regions larger than a chunk are rare, so
//! they are all stored in a single sorted list. The pool reserves this list's capacity in advance
//! for the largest possible number of regions.
//!
//! If several regions have the same size, the index returns the newest one first.

use pool_core::reserve::Reserve;

use super::bitmap::Bitmap;
use super::region::{ChunkRegion, NONE, State};
use crate::base::request::{CHUNK, GRANULE, Request};

/// The largest region size, in granules, that has its own list in the index.
const LISTED: usize = (CHUNK / GRANULE) as usize;

/// The size, address, and slot of a free region larger than a chunk.
pub(super) type Large = (u64, u64, u32);

/// The free regions, indexed by size.
#[derive(Debug)]
pub(super) struct FreeIndex {
    /// The slot of the newest free region of each size, or `NONE`. Sizes are measured in granules.
    newest: Vec<u32>,
    /// The sizes whose lists are not empty.
    sizes: Bitmap,
    /// The free regions larger than a chunk, sorted by size and address.
    large: Vec<Large>,
}

impl FreeIndex {
    pub(super) fn new() -> Self {
        Self { newest: vec![NONE; LISTED + 1], sizes: Bitmap::new(LISTED + 1), large: Vec::new() }
    }

    /// Returns the capacity that the sorted list needs to store `largest` regions, or `None` if its
    /// capacity is sufficient.
    pub(super) fn lacks(&self, largest: usize) -> Option<usize> {
        self.large.lacking(largest.saturating_sub(self.large.len()))
    }

    /// Moves the sorted list to the larger buffer in `spare`.
    pub(super) fn put(&mut self, spare: &mut Vec<Large>) {
        self.large.move_to(spare);
    }

    /// Returns a region's position in the sorted list, or the position at which it must be
    /// inserted.
    fn place_of(&self, large: &Large) -> usize {
        self.large.partition_point(|other| other < large)
    }

    /// Inserts a free region. Links the region to the other free regions of its size, or adds it to
    /// the sorted list.
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

    /// Removes a free region from the index.
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

    /// Returns the slot of the smallest free region that is large enough for the request.
    pub(super) fn best_fit(&self, regions: &[ChunkRegion], request: &Request) -> Option<u32> {
        self.listed_fit(regions, request).or_else(|| self.large_fit(request))
    }

    /// Removes all regions from the index. The links between the removed regions become invalid.
    pub(super) fn clear(&mut self) {
        while let Some(size) = self.sizes.at_least(0) {
            self.sizes.remove(size);
            self.newest[size] = NONE;
        }
        self.large.clear();
    }

    /// Finds a suitable region in the size lists. If the requested alignment is one granule, any
    /// region that is large enough is suitable. For larger alignments, a region might be large
    /// enough for the block but start at an unsuitable address. If no earlier region is suitable,
    /// the search ends at the first region that is large enough regardless of its address.
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

/// Returns the maximum number of free regions that fit into `bytes` bytes if each is larger than a
/// chunk.
pub(super) fn largest_in(bytes: u64) -> u64 {
    bytes / (CHUNK + GRANULE)
}

/// Returns the size in granules, or `None` if it is too large for the size lists.
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
