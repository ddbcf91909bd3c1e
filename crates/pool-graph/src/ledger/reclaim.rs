//! Operations that free a pool's memory. Resetting a pool frees blocks, and trimming or disposing
//! of a pool frees chunks.

use super::chunks::LeavingPieces;
use super::free_index::largest_in;
use super::piece::Piece;
use super::state::BlockLedger;
use crate::base::error::GraphMemoryError;

/// The result of [`CUDAGraphMemoryPool::reset`](crate::CUDAGraphMemoryPool::reset).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reset {
    /// The number of freed blocks.
    pub returned: u64,
    /// The number of blocks that remained allocated because captured graphs held leases on them.
    pub leased: u64,
}

impl BlockLedger {
    /// Frees every block that is not leased.
    pub(crate) fn reset<E>(&mut self) -> Result<Reset, GraphMemoryError<E>> {
        self.check_alive()?;
        self.counts.resets += 1;
        Ok(self.sweep())
    }

    /// Releases every chunk that contains no leased block. All later calls to the ledger fail.
    pub(crate) fn dispose(&mut self) -> LeavingPieces {
        if self.disposed {
            return LeavingPieces::NOTHING;
        }
        self.disposed = true;
        self.sweep();
        self.take_idle(u64::MAX)
    }

    /// Releases every chunk that contains no block.
    pub(crate) fn trim<E>(&mut self) -> Result<LeavingPieces, GraphMemoryError<E>> {
        self.check_alive()?;
        Ok(self.take_idle(u64::MAX))
    }

    pub(super) fn idle(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let idle = self.chunks.all().filter(|(_, chunk)| chunk.blocks == 0);
        idle.map(|(place, chunk)| (place, chunk.piece.bytes))
    }

    /// Releases chunks without blocks, newest first, until their total size is at least `enough`
    /// bytes.
    pub(super) fn take_idle(&mut self, enough: u64) -> LeavingPieces {
        let mut leaving = LeavingPieces::NOTHING;
        let mut next = self.chunks.newest();
        while let Some(place) = next
            && leaving.bytes < enough
        {
            next = self.chunks.older(place);
            if self.chunks.get(place).is_some_and(|chunk| chunk.blocks == 0) {
                self.let_go(place, &mut leaving);
            }
        }
        self.giving_back += leaving.pieces;
        leaving
    }

    /// Returns the next piece that must go back to the source.
    pub(crate) fn next_leaving(&mut self, leaving: &mut LeavingPieces) -> Option<Piece> {
        self.chunks.next_leaving(leaving)
    }

    fn let_go(&mut self, place: u32, leaving: &mut LeavingPieces) {
        let Some(chunk) = self.chunks.let_go(place, leaving) else { return };
        self.largest -= largest_in(chunk.piece.bytes);
        if !chunk.asleep {
            self.regions.withdraw(chunk.first);
        }
        self.regions.remove_whole(chunk.first);
    }

    /// Frees all blocks that are not leased. Afterward, the pool behaves as if the freed blocks had
    /// never been allocated.
    fn sweep(&mut self) -> Reset {
        self.regions.withdraw_all();
        let mut reset = Reset::default();
        let mut next = self.chunks.oldest();
        while let Some(place) = next {
            next = self.chunks.newer(place);
            let Some(chunk) = self.chunks.get_mut(place) else { break };
            let counts = &mut self.counts;
            self.regions.sweep(chunk.first, |region, taken| {
                counts.forget(region.bytes, taken.size);
                chunk.blocks -= 1;
                reset.returned += 1;
            });
            reset.leased += chunk.blocks;
            chunk.asleep = chunk.grown && chunk.blocks == 0;
            self.regions.orphan(chunk.first);
        }
        self.first_since_reset = self.next_serial;
        self.offer_anew();
        reset
    }

    /// Adds the free regions of all awake chunks to the index. The resulting order does not depend
    /// on earlier calls. Regions in older chunks are allocated first.
    pub(crate) fn offer_anew(&mut self) {
        self.regions.withdraw_all();
        let mut next = self.chunks.newest();
        while let Some(place) = next {
            next = self.chunks.older(place);
            if let Some(chunk) = self.chunks.get(place).filter(|chunk| !chunk.asleep) {
                self.regions.offer_chunk(chunk.first);
            }
        }
    }
}
