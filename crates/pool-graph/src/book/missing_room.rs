//! The reserved capacity of a book. Every list that a call could fill is extended before the call,
//! without the pool's lock. A call that has begun therefore completes even if the host is out of
//! memory. Freeing memory needs no capacity.

use pool_core::reserve::{self, NoHostMemory, Reserve};

use super::chunks::Slot;
use super::free_index::{Large, largest_in};
use super::region::ChunkRegion;
use super::state::Book;

/// The capacity that is missing in each list of a book.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MissingRoom {
    pub(super) regions: Option<usize>,
    pub(super) large: Option<usize>,
    pub(super) chunks: Option<usize>,
}

/// Empty lists with the missing capacity. Once the book has taken these lists, this value contains
/// the lists that they have replaced.
#[derive(Debug)]
pub(crate) struct Room {
    pub(super) regions: Vec<ChunkRegion>,
    pub(super) large: Vec<Large>,
    pub(super) chunks: Vec<Slot>,
}

/// The next call needs capacity for an allocation, and for a new chunk of `bytes` bytes.
impl Reserve for Book {
    type Need = Option<u64>;
    type Lacking = MissingRoom;
    type Spare = Room;

    fn lacking(&self, growth: Option<u64>) -> Option<MissingRoom> {
        let largest = self.largest + growth.map_or(0, largest_in);
        let regions = self.regions.lacks(largest);
        let chunks = growth.and_then(|_| self.chunks.lacks());
        if regions.is_none() && chunks.is_none() {
            return None;
        }
        let large = regions.and_then(|lacking| lacking.large);
        let regions = regions.and_then(|lacking| lacking.regions);
        Some(MissingRoom { regions, large, chunks })
    }

    fn allocate(missing: MissingRoom) -> Result<Room, NoHostMemory> {
        Ok(Room {
            regions: reserve::list(missing.regions.unwrap_or(0))?,
            large: reserve::list(missing.large.unwrap_or(0))?,
            chunks: reserve::list(missing.chunks.unwrap_or(0))?,
        })
    }

    fn move_to(&mut self, room: &mut Room) {
        self.regions.put(&mut room.regions, &mut room.large);
        self.chunks.put(&mut room.chunks);
    }
}
