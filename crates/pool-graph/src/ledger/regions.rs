//! The regions of all chunks. Each region stores the slots of its neighbors in the chunk so that a
//! freed region can be merged with adjacent free ones. Region slots are reused. Block serial
//! numbers are never reused.

use pool_core::reserve::Reserve;

use super::free_index::{FreeIndex, Large};
use super::region::{BlockRecord, ChunkRegion, FREE, NONE, State};
use crate::base::request::Request;

/// The maximum number of regions that a single call can create. A single call can add a chunk and
/// split it into three regions.
const REGIONS_OF_A_CALL: usize = 3;

/// The capacity to reserve in the lists of regions.
#[derive(Clone, Copy, Debug)]
pub(super) struct MissingRegions {
    pub(super) regions: Option<usize>,
    pub(super) large: Option<usize>,
}

/// All regions of all chunks.
#[derive(Debug)]
pub(super) struct Regions {
    slots: Vec<ChunkRegion>,
    /// The first vacant slot and the number of vacant slots.
    vacant: u32,
    vacancies: usize,
    index: FreeIndex,
}

impl Regions {
    pub(super) fn new() -> Self {
        let nothing = ChunkRegion {
            address: 0,
            bytes: 0,
            chunk: 0,
            before: NONE,
            after: NONE,
            state: State::Vacant { next: NONE },
        };
        Self { slots: vec![nothing], vacant: NONE, vacancies: 0, index: FreeIndex::new() }
    }

    /// Returns the total number of regions.
    pub(super) fn count(&self) -> u64 {
        (self.slots.len() - 1 - self.vacancies) as u64
    }

    /// Returns `true` if there might not be enough slot numbers left to split a region into three.
    pub(super) fn is_full(&self) -> bool {
        lacks_numbers(self.slots.len(), self.vacancies)
    }

    /// Returns the capacity to reserve for the next call. The next call might add a chunk and split
    /// it into three regions. `largest` is the maximum number of free regions larger than a chunk.
    pub(super) fn lacks(&self, largest: u64) -> Option<MissingRegions> {
        let more = REGIONS_OF_A_CALL.saturating_sub(self.vacancies);
        let regions = self.slots.lacking(more);
        let largest = usize::try_from(largest).unwrap_or(usize::MAX);
        let large = self.index.lacks(largest.min(self.slots.len() + REGIONS_OF_A_CALL));
        (regions.is_some() || large.is_some()).then_some(MissingRegions { regions, large })
    }

    /// Moves the lists to the memory reserved for them.
    pub(super) fn put(&mut self, regions: &mut Vec<ChunkRegion>, large: &mut Vec<Large>) {
        self.slots.move_to(regions);
        self.index.put(large);
    }

    /// Returns the slot of a chunk's last region.
    fn last_of_chunk(&self, first: u32) -> u32 {
        self.of_chunk(first).last().unwrap_or(NONE)
    }

    /// Adds a chunk's free regions to the index. None of these regions may be in the index yet.
    /// Regions are added in reverse order so that the chunk's first region is allocated first.
    pub(super) fn offer_chunk(&mut self, first: u32) {
        let mut slot = self.last_of_chunk(first);
        while slot != NONE {
            if self.is_free(slot) {
                self.offer(slot);
            }
            slot = self.at(slot).before;
        }
    }

    /// Invalidates the IDs of all blocks in a chunk.
    pub(super) fn orphan(&mut self, first: u32) {
        let mut slot = first;
        while slot != NONE {
            if let Some(taken) = self.taken_mut(slot) {
                taken.orphaned = true;
            }
            slot = self.at(slot).after;
        }
    }

    /// Returns the region in a slot, or `None` if the slot does not exist.
    pub(super) fn get(&self, slot: u32) -> Option<&ChunkRegion> {
        self.slots.get(slot as usize)
    }

    /// Returns the block in a slot, or `None` if the slot contains something else.
    pub(super) fn taken(&self, slot: u32) -> Option<&BlockRecord> {
        match &self.get(slot)?.state {
            State::Taken(taken) => Some(taken),
            _ => None,
        }
    }

    /// Returns a mutable reference to the block in a slot, or `None` if the slot contains something
    /// else.
    pub(super) fn taken_mut(&mut self, slot: u32) -> Option<&mut BlockRecord> {
        match &mut self.slots.get_mut(slot as usize)?.state {
            State::Taken(taken) => Some(taken),
            _ => None,
        }
    }

    /// Returns the slots of a chunk's regions in address order.
    pub(super) fn of_chunk(&self, first: u32) -> impl Iterator<Item = u32> + '_ {
        let existing = |slot: u32| (slot != NONE).then_some(slot);
        std::iter::successors(existing(first), move |&slot| existing(self.at(slot).after))
    }

    /// Returns `true` if the slot contains a free region.
    pub(super) fn is_free(&self, slot: u32) -> bool {
        matches!(self.at(slot).state, State::Free { .. })
    }

    /// Creates a free region that covers a whole chunk, without adding it to the index.
    pub(super) fn add_whole(&mut self, address: u64, bytes: u64, chunk: u32) -> u32 {
        self.insert(ChunkRegion { address, bytes, chunk, before: NONE, after: NONE, state: FREE })
    }

    /// Removes a free region that covers its whole chunk. The region must not be in the index.
    pub(super) fn remove_whole(&mut self, slot: u32) {
        self.vacate(slot);
    }

    /// Adds a free region to the index.
    pub(super) fn offer(&mut self, slot: u32) {
        self.index.insert(&mut self.slots, slot);
    }

    /// Removes a free region from the index.
    pub(super) fn withdraw(&mut self, slot: u32) {
        self.index.remove(&mut self.slots, slot);
    }

    /// Removes all regions from the index.
    pub(super) fn withdraw_all(&mut self) {
        self.index.clear();
    }

    /// Returns the slot of the smallest free region in the index that is large enough for the
    /// request.
    pub(super) fn best_fit(&self, request: &Request) -> Option<u32> {
        self.index.best_fit(&self.slots, request)
    }

    /// Creates a block in a free region that is not in the index. The free ranges before and after
    /// the block are added to the index. Returns the slot of the block, or `None` if the block does
    /// not fit into the region.
    pub(super) fn carve(
        &mut self,
        slot: u32,
        request: &Request,
        taken: BlockRecord,
    ) -> Option<u32> {
        let whole = self.at(slot);
        let padding = request.padding(whole.address, whole.bytes)?;
        let block = if padding == 0 { slot } else { self.split(slot, padding) };
        if self.at(block).bytes > request.bytes {
            let behind = self.split(block, request.bytes);
            self.offer(behind);
        }
        if block != slot {
            // The range before the block keeps its slot, so the first region of the chunk stays the
            // same.
            self.offer(slot);
        }
        self.at_mut(block).state = State::Taken(taken);
        Some(block)
    }

    /// Frees a block, merges it with adjacent free regions, and adds the result to the index.
    pub(super) fn release(&mut self, slot: u32) {
        self.at_mut(slot).state = FREE;
        let ChunkRegion { before, after, .. } = *self.at(slot);
        if after != NONE && self.is_free(after) {
            self.withdraw(after);
            self.absorb_next(slot);
        }
        if before != NONE && self.is_free(before) {
            self.withdraw(before);
            self.absorb_next(before);
            self.offer(before);
            return;
        }
        self.offer(slot);
    }

    /// Frees each unleased block in a chunk and calls `freed` for it. The index must be empty, and
    /// it remains empty.
    pub(super) fn sweep(&mut self, first: u32, mut freed: impl FnMut(&ChunkRegion, &BlockRecord)) {
        let mut slot = first;
        while slot != NONE {
            let region = *self.at(slot);
            if let State::Taken(taken) = region.state
                && taken.leases == 0
            {
                freed(&region, &taken);
                self.at_mut(slot).state = FREE;
            }
            let merges = region.before != NONE && self.is_free(region.before) && self.is_free(slot);
            if merges {
                self.absorb_next(region.before);
            }
            slot = region.after;
        }
    }

    fn at(&self, slot: u32) -> &ChunkRegion {
        &self.slots[slot as usize]
    }

    fn at_mut(&mut self, slot: u32) -> &mut ChunkRegion {
        &mut self.slots[slot as usize]
    }

    /// Splits a free region after `bytes` bytes and returns the slot of the second part. The region
    /// must not be in the index.
    fn split(&mut self, slot: u32, bytes: u64) -> u32 {
        let whole = *self.at(slot);
        let rest = self.insert(ChunkRegion {
            address: whole.address + bytes,
            bytes: whole.bytes - bytes,
            before: slot,
            ..whole
        });
        if whole.after != NONE {
            self.at_mut(whole.after).before = rest;
        }
        let first = self.at_mut(slot);
        (first.bytes, first.after) = (bytes, rest);
        rest
    }

    /// Merges a free region with the region after it. Neither region may be in the index.
    fn absorb_next(&mut self, slot: u32) {
        let next = self.at(slot).after;
        let ChunkRegion { bytes, after, .. } = *self.at(next);
        self.vacate(next);
        let region = self.at_mut(slot);
        region.bytes += bytes;
        region.after = after;
        if after != NONE {
            self.at_mut(after).before = slot;
        }
    }

    fn insert(&mut self, region: ChunkRegion) -> u32 {
        let vacant = self.vacant;
        if let State::Vacant { next } = self.at(vacant).state
            && vacant != NONE
        {
            (self.vacant, self.vacancies) = (next, self.vacancies - 1);
            *self.at_mut(vacant) = region;
            return vacant;
        }
        self.slots.push(region);
        #[expect(clippy::cast_possible_truncation, reason = "`is_full` is asked before")]
        let slot = (self.slots.len() - 1) as u32;
        slot
    }

    fn vacate(&mut self, slot: u32) {
        self.at_mut(slot).state = State::Vacant { next: self.vacant };
        (self.vacant, self.vacancies) = (slot, self.vacancies + 1);
    }
}

/// Returns `true` if fewer than two slots are vacant and three more slots would exceed the range of
/// a `u32`.
fn lacks_numbers(slots: usize, vacant: usize) -> bool {
    vacant < 2 && u32::try_from(slots + 3).is_err()
}

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use super::lacks_numbers;

    #[test]
    fn two_slots_have_numbers_or_there_is_a_refusal() {
        let numbers = u32::MAX as usize;
        for vacant in 0..2 {
            assert!(!lacks_numbers(1, vacant) && !lacks_numbers(numbers - 3, vacant));
            assert!(lacks_numbers(numbers - 2, vacant) && lacks_numbers(numbers, vacant));
        }
        assert!(!lacks_numbers(numbers, 2) && !lacks_numbers(numbers, 3), "those are used first");
    }
}
