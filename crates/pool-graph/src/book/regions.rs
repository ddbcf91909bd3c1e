//! Chunks cut into regions: each knows its neighbours, so that what is returned merges with what is
//! free beside it, and never across the end of a chunk. Slots of regions are used again; a block is
//! known by its serial number, which is not.

use pool_core::reserve::Reserve;

use super::free_index::{FreeIndex, Large};
use super::region::{BlockRecord, ChunkRegion, FREE, NONE, State};
use crate::base::request::Request;

/// How many regions come to be in one call: a chunk, which is cut in three.
const REGIONS_OF_A_CALL: usize = 3;

/// The room that regions lack: how many entries each list shall have room for.
#[derive(Clone, Copy, Debug)]
pub(super) struct MissingRegions {
    pub(super) regions: Option<usize>,
    pub(super) large: Option<usize>,
}

/// All regions of all chunks.
#[derive(Debug)]
pub(super) struct Regions {
    slots: Vec<ChunkRegion>,
    /// The first slot without a region, and how many there are.
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

    /// How many regions there are.
    pub(super) fn count(&self) -> u64 {
        (self.slots.len() - 1 - self.vacancies) as u64
    }

    /// Whether cutting a region in three could need more slots than have numbers.
    pub(super) fn is_full(&self) -> bool {
        lacks_numbers(self.slots.len(), self.vacancies)
    }

    /// What is lacking for one call: a chunk as a region, which is cut in three. `largest` is how many free
    /// regions larger than a chunk there can be.
    pub(super) fn lacks(&self, largest: u64) -> Option<MissingRegions> {
        let more = REGIONS_OF_A_CALL.saturating_sub(self.vacancies);
        let regions = self.slots.lacking(more);
        let largest = usize::try_from(largest).unwrap_or(usize::MAX);
        let large = self.index.lacks(largest.min(self.slots.len() + REGIONS_OF_A_CALL));
        (regions.is_some() || large.is_some()).then_some(MissingRegions { regions, large })
    }

    /// Takes the room that was missing.
    pub(super) fn put(&mut self, regions: &mut Vec<ChunkRegion>, large: &mut Vec<Large>) {
        self.slots.move_to(regions);
        self.index.put(large);
    }

    /// The slot of a chunk's last region.
    fn last_of_chunk(&self, first: u32) -> u32 {
        self.of_chunk(first).last().unwrap_or(NONE)
    }

    /// Offers every free region of a chunk, none of which is in the index: the first one comes to be the newest.
    pub(super) fn offer_chunk(&mut self, first: u32) {
        let mut slot = self.last_of_chunk(first);
        while slot != NONE {
            if self.is_free(slot) {
                self.offer(slot);
            }
            slot = self.at(slot).before;
        }
    }

    /// The blocks of a chunk lose their names.
    pub(super) fn orphan(&mut self, first: u32) {
        let mut slot = first;
        while slot != NONE {
            if let Some(taken) = self.taken_mut(slot) {
                taken.orphaned = true;
            }
            slot = self.at(slot).after;
        }
    }

    /// The region in a slot, if there is such a slot.
    pub(super) fn get(&self, slot: u32) -> Option<&ChunkRegion> {
        self.slots.get(slot as usize)
    }

    /// The block in a slot, if there is one.
    pub(super) fn taken(&self, slot: u32) -> Option<&BlockRecord> {
        match &self.get(slot)?.state {
            State::Taken(taken) => Some(taken),
            _ => None,
        }
    }

    /// The block in a slot, if there is one, to be changed.
    pub(super) fn taken_mut(&mut self, slot: u32) -> Option<&mut BlockRecord> {
        match &mut self.slots.get_mut(slot as usize)?.state {
            State::Taken(taken) => Some(taken),
            _ => None,
        }
    }

    /// The slots of a chunk's regions, in order of address.
    pub(super) fn of_chunk(&self, first: u32) -> impl Iterator<Item = u32> + '_ {
        let existing = |slot: u32| (slot != NONE).then_some(slot);
        std::iter::successors(existing(first), move |&slot| existing(self.at(slot).after))
    }

    /// Whether a region is free.
    pub(super) fn is_free(&self, slot: u32) -> bool {
        matches!(self.at(slot).state, State::Free { .. })
    }

    /// A chunk as one free region, not in the index.
    pub(super) fn add_whole(&mut self, address: u64, bytes: u64, chunk: u32) -> u32 {
        self.insert(ChunkRegion { address, bytes, chunk, before: NONE, after: NONE, state: FREE })
    }

    /// Takes a region out that has its chunk for itself and is not in the index.
    pub(super) fn remove_whole(&mut self, slot: u32) {
        self.vacate(slot);
    }

    /// Puts a free region into the index.
    pub(super) fn offer(&mut self, slot: u32) {
        self.index.insert(&mut self.slots, slot);
    }

    /// Takes a free region out of the index.
    pub(super) fn withdraw(&mut self, slot: u32) {
        self.index.remove(&mut self.slots, slot);
    }

    /// Takes all regions out of the index.
    pub(super) fn withdraw_all(&mut self) {
        self.index.clear();
    }

    /// The smallest region in the index that the request fits into.
    pub(super) fn best_fit(&self, request: &Request) -> Option<u32> {
        self.index.best_fit(&self.slots, request)
    }

    /// Makes a block in a free region that is not in the index. What is left before and behind goes
    /// into the index. The slot of the block, or `None` where it does not fit.
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
            // The part before keeps the slot, so that the chunk's first region stays its first.
            self.offer(slot);
        }
        self.at_mut(block).state = State::Taken(taken);
        Some(block)
    }

    /// Frees a block, merges it with what is free beside it, and offers the whole.
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

    /// Frees every block of a chunk that has no lease, where nothing is in the index; calls `freed`
    /// with each. Nothing is offered.
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

    /// Cuts a free region that is not in the index behind so many bytes; the slot of the rest.
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

    /// A region takes the bytes of the one behind it, which is then gone. Neither is in the index.
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

/// Two slots are needed, which are made where fewer are vacant, and numbered with 32 bits.
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
