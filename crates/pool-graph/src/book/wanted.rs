//! The room that a book needs: every list of it is made longer ahead of the call that could fill it, without
//! the pool's lock. So a call that has begun is done, whatever memory the host has, and what gives bytes back
//! needs none.

use super::Book;
use super::chunks::Slot;
use super::free_index::Large;
use super::regions::Region;
use crate::request::{CHUNK, GRANULE};
use crate::room::{self, NoRoom};

/// How many regions come to be in one call: a chunk, which is cut in three.
pub(super) const REGIONS_OF_A_CALL: usize = 3;

/// What is to be made: how many entries each list shall have room for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    pub(super) regions: Option<usize>,
    pub(super) large: Option<usize>,
    pub(super) chunks: Option<usize>,
}

/// Lists with that room, which are empty; afterwards, what they replaced.
#[derive(Debug)]
pub(crate) struct Room {
    pub(super) regions: Vec<Region>,
    pub(super) large: Vec<Large>,
    pub(super) chunks: Vec<Slot>,
}

impl Wanted {
    pub(crate) fn make(self) -> Result<Room, NoRoom> {
        Ok(Room {
            regions: room::list(self.regions.unwrap_or(0))?,
            large: room::list(self.large.unwrap_or(0))?,
            chunks: room::list(self.chunks.unwrap_or(0))?,
        })
    }
}

/// How many free regions larger than a chunk can be in so many bytes.
pub(super) fn largest_in(bytes: u64) -> u64 {
    bytes / (CHUNK + GRANULE)
}

impl Book {
    /// What the next call needs room for: an allocation, with `growth` bytes of a new chunk.
    pub(crate) fn lacks(&self, growth: Option<u64>) -> Option<Wanted> {
        let largest = self.largest + growth.map_or(0, largest_in);
        let regions = self.regions.lacks(largest);
        let chunks = growth.and_then(|_| self.chunks.lacks());
        if regions.is_none() && chunks.is_none() {
            return None;
        }
        Some(Wanted { chunks, ..regions.unwrap_or_default() })
    }

    pub(crate) fn put(&mut self, room: &mut Room) {
        self.regions.put(room);
        self.chunks.put(room);
    }
}
