//! Reserved capacity for a book's lists. Before each call, the pool reserves space in every list
//! that the call might fill, and does not hold its lock while doing so. A call that has begun can
//! therefore finish even if the host runs out of memory. Freeing memory requires no capacity.

use pool_core::reserve::{self, NoHostMemory, Reserve};

use super::chunks::Slot;
use super::free_index::{Large, largest_in};
use super::region::ChunkRegion;
use super::state::Book;

/// The capacity to reserve for each of a book's lists, or `None` for a list with sufficient
/// capacity.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MissingRoom {
    pub(super) regions: Option<usize>,
    pub(super) large: Option<usize>,
    pub(super) chunks: Option<usize>,
}

/// Empty lists with the required capacity. After the book has moved its contents into the new
/// lists, these fields hold the old lists.
#[derive(Debug)]
pub(crate) struct Room {
    pub(super) regions: Vec<ChunkRegion>,
    pub(super) large: Vec<Large>,
    pub(super) chunks: Vec<Slot>,
}

/// An allocation needs capacity for the regions that it creates. If `Need` contains the size of a
/// new chunk, the pool also reserves capacity for this chunk.
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
