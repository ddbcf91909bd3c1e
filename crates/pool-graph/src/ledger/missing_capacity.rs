//! Reserved capacity for a ledger's lists. Before each call, the pool reserves space in every list
//! that the call might fill. The pool does not hold its lock while it reserves this space. A call
//! that has begun can therefore finish even if the host runs out of memory. Freeing memory requires
//! no capacity.

use pool_core::reserve::{self, NoHostMemory, Reserve};

use super::chunks::Slot;
use super::free_index::{Large, largest_in};
use super::region::ChunkRegion;
use super::state::BlockLedger;

/// The capacity to reserve for each of a ledger's lists, or `None` if a list already has enough.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MissingCapacity {
    pub(super) regions: Option<usize>,
    pub(super) large: Option<usize>,
    pub(super) chunks: Option<usize>,
}

/// Empty lists that have the required capacity. After the ledger has moved its contents into the
/// new lists, these fields contain the old lists.
#[derive(Debug)]
pub(crate) struct SpareLists {
    pub(super) regions: Vec<ChunkRegion>,
    pub(super) large: Vec<Large>,
    pub(super) chunks: Vec<Slot>,
}

/// An allocation needs capacity for the regions that it creates. If `Need` specifies the size of a
/// new chunk, the pool also reserves capacity for this chunk.
impl Reserve for BlockLedger {
    type Need = Option<u64>;
    type Lacking = MissingCapacity;
    type Spare = SpareLists;

    fn lacking(&self, growth: Option<u64>) -> Option<MissingCapacity> {
        let largest = self.largest + growth.map_or(0, largest_in);
        let regions = self.regions.lacks(largest);
        let chunks = growth.and_then(|_| self.chunks.lacks());
        if regions.is_none() && chunks.is_none() {
            return None;
        }
        let large = regions.and_then(|lacking| lacking.large);
        let regions = regions.and_then(|lacking| lacking.regions);
        Some(MissingCapacity { regions, large, chunks })
    }

    fn allocate(missing: MissingCapacity) -> Result<SpareLists, NoHostMemory> {
        Ok(SpareLists {
            regions: reserve::list(missing.regions.unwrap_or(0))?,
            large: reserve::list(missing.large.unwrap_or(0))?,
            chunks: reserve::list(missing.chunks.unwrap_or(0))?,
        })
    }

    fn move_to(&mut self, spare: &mut SpareLists) {
        self.regions.put(&mut spare.regions, &mut spare.large);
        self.chunks.put(&mut spare.chunks);
    }
}
