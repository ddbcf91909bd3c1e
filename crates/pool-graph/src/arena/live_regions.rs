//! An arena's live regions, in allocation order. A hash table finds the regions that start at a
//! given offset. The caller reserves capacity for the next region before it acquires the arena's
//! lock.

use std::mem;

use pool_core::reserve::{self, NoHostMemory, Reserve};

use crate::base::request::GRANULE;

/// The index value that means "no region".
const NONE: u32 = u32::MAX;

/// An allocated region.
#[derive(Clone, Copy, Debug)]
struct LiveRegion {
    offset: u64,
    bytes: u64,
    /// The index of the previous region in the same hash bucket.
    older: u32,
    is_live: bool,
}

/// An arena's live regions. If several planned regions start at the same offset, a lookup finds the
/// newest one.
#[derive(Debug, Default)]
pub(super) struct LiveRegions {
    /// All regions, in allocation order. A deallocated region stays in the list until all later
    /// ones have been deallocated.
    regions: Vec<LiveRegion>,
    /// The index of the newest live region in each hash bucket. The list never stores more
    /// regions than there are buckets.
    rows: Vec<u32>,
    count: u64,
}

/// Before each allocation, the list must have capacity for one more region.
impl Reserve for LiveRegions {
    type Need = ();
    type Lacking = usize;
    type Spare = Self;

    fn lacking(&self, (): ()) -> Option<usize> {
        let next = self.regions.len() + 1;
        (next > self.rows.len()).then(|| next.max(4))
    }

    fn allocate(regions: usize) -> Result<Self, NoHostMemory> {
        Self::with_room(regions)
    }

    fn move_to(&mut self, room: &mut Self) {
        if room.rows.len() > self.rows.len() && self.copy_to(room) {
            mem::swap(self, room);
        }
    }
}

impl LiveRegions {
    /// Creates an empty list with capacity for `regions` regions.
    pub(super) fn with_room(regions: usize) -> Result<Self, NoHostMemory> {
        let requested = regions.saturating_mul(size_of::<LiveRegion>());
        let rows = regions.checked_next_power_of_two().ok_or(NoHostMemory { requested })?;
        let mut room = Self { regions: reserve::list(rows)?, rows: reserve::list(rows)?, count: 0 };
        room.rows.resize(rows, NONE);
        Ok(room)
    }

    /// Returns the capacity required for a copy of the list.
    #[cfg(any(test, feature = "cuda"))]
    pub(super) fn needs(&self) -> usize {
        self.regions.len()
    }

    /// Copies the regions to `room`, replacing its contents. Returns `false` if the capacity of
    /// `room` is too small.
    pub(super) fn copy_to(&self, room: &mut Self) -> bool {
        if room.rows.len() < self.regions.len() {
            return false;
        }
        room.clear();
        for region in &self.regions {
            room.push(*region);
        }
        true
    }

    /// Adds a region, using previously reserved capacity.
    pub(super) fn add(&mut self, offset: u64, bytes: u64) {
        self.push(LiveRegion { offset, bytes, older: NONE, is_live: true });
    }

    /// Deallocates the newest live region that begins at `offset` and returns its size in bytes.
    pub(super) fn end(&mut self, offset: u64) -> Option<u64> {
        let row = self.row(offset)?;
        let (mut newer, mut number) = (NONE, self.rows[row]);
        while let Some(&LiveRegion { offset: other, bytes, older, .. }) = self.get(number) {
            if other != offset {
                (newer, number) = (number, older);
                continue;
            }
            match self.regions.get_mut(newer as usize) {
                Some(newer) => newer.older = older,
                None => self.rows[row] = older,
            }
            self.regions[number as usize].is_live = false;
            self.count -= 1;
            while self.regions.last().is_some_and(|last| !last.is_live) {
                self.regions.pop();
            }
            return Some(bytes);
        }
        None
    }

    /// Returns the end offset of the last region, or 0 if the list is empty.
    pub(super) fn end_of_last(&self) -> u64 {
        self.regions.last().map_or(0, |last| last.offset + last.bytes)
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn clear(&mut self) {
        self.regions.clear();
        self.rows.fill(NONE);
        self.count = 0;
    }

    fn push(&mut self, region: LiveRegion) {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "more regions of 256 bytes than any host has"
        )]
        let number = self.regions.len() as u32;
        let mut older = NONE;
        if let Some(row) = self.row(region.offset).filter(|_| region.is_live) {
            older = mem::replace(&mut self.rows[row], number);
            self.count += 1;
        }
        self.regions.push(LiveRegion { older, ..region });
    }

    fn get(&self, number: u32) -> Option<&LiveRegion> {
        self.regions.get(number as usize)
    }

    /// Returns the hash bucket for regions that begin at `offset`, or `None` if the table has no
    /// buckets.
    fn row(&self, offset: u64) -> Option<usize> {
        // Consecutive granules map to different buckets, so adjacent regions do not collide.
        let row = (offset / GRANULE) & (self.rows.len() as u64).checked_sub(1)?;
        usize::try_from(row).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use pool_core::reserve::Reserve;

    use super::LiveRegions;

    #[test]
    fn agrees_with_an_ordered_map() {
        let (mut live, mut map) = (LiveRegions::default(), BTreeMap::new());
        let mut place = 1_u64;
        for number in 0..if cfg!(miri) { 60 } else { 3000_u64 } {
            place = (place * 48_271 + 11) % 65_537;
            let offset = place % 40 * 256;
            let newest = map.range((offset, 0)..=(offset, u64::MAX)).next_back();
            let newest = newest.map(|(&key, &bytes)| (key, bytes));
            if place % 5 < 2 {
                assert_eq!(live.end(offset), newest.map(|(_, bytes)| bytes), "{number}");
                newest.map(|(key, _)| map.remove(&key));
            } else {
                if let Some(wanted) = live.lacking(()) {
                    live.move_to(&mut LiveRegions::with_room(wanted).unwrap());
                }
                assert_eq!(live.lacking(()), None);
                live.add(offset, number);
                map.insert((offset, number), number);
            }
            assert_eq!(live.count(), map.len() as u64);
        }
        assert!(!live.copy_to(&mut LiveRegions::default()));
        let mut copy = LiveRegions::with_room(live.needs()).unwrap();
        assert!(live.copy_to(&mut copy));
        for ((offset, _), bytes) in map.into_iter().rev() {
            assert_eq!((live.end(offset), copy.end(offset)), (Some(bytes), Some(bytes)));
        }
        assert_eq!((live.count(), live.needs(), copy.count(), copy.end_of_last()), (0, 0, 0, 0));
    }
}
