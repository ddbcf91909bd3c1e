//! How a pool gets its bytes back: blocks by a reset, chunks by a trim or a disposal.

use super::{Book, Piece};
use crate::error::GraphMemoryError;

/// What a reset did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reset {
    /// Blocks that were taken back.
    pub returned: u64,
    /// Blocks that stayed, because captured graphs lease them.
    pub leased: u64,
}

impl Book {
    /// Takes back every block that is not leased.
    pub(crate) fn reset<E>(&mut self) -> Result<Reset, GraphMemoryError<E>> {
        self.check_alive()?;
        self.counts.resets += 1;
        Ok(self.sweep())
    }

    /// Gives up every chunk that no lease holds, and answers nothing from now on.
    pub(crate) fn dispose(&mut self) -> Vec<Piece> {
        if self.disposed {
            return Vec::new();
        }
        self.disposed = true;
        self.sweep();
        self.take_idle(u64::MAX)
    }

    /// Every chunk without a block.
    pub(crate) fn trim<E>(&mut self) -> Result<Vec<Piece>, GraphMemoryError<E>> {
        self.check_alive()?;
        Ok(self.take_idle(u64::MAX))
    }

    pub(super) fn idle(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let idle = self.chunks.all().filter(|(_, chunk)| chunk.blocks == 0);
        idle.map(|(place, chunk)| (place, chunk.piece.bytes))
    }

    /// Takes idle chunks out, the newest first, until they are `enough` bytes together.
    pub(super) fn take_idle(&mut self, enough: u64) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut bytes = 0;
        if self.idle().next().is_none() {
            return pieces;
        }
        for place in self.chunks.by_age().into_iter().rev() {
            if bytes >= enough {
                break;
            }
            if self.chunks.get(place).is_some_and(|chunk| chunk.blocks == 0) {
                let piece = self.remove_chunk(place);
                bytes += piece.map_or(0, |piece| piece.bytes);
                pieces.extend(piece);
            }
        }
        self.giving_back += pieces.len();
        pieces
    }

    fn remove_chunk(&mut self, place: u32) -> Option<Piece> {
        let chunk = self.chunks.remove(place)?;
        if !chunk.asleep {
            self.regions.withdraw(chunk.first);
        }
        self.regions.remove_whole(chunk.first);
        Some(chunk.piece)
    }

    /// Frees what is not leased, and makes it as if it had never been allocated.
    fn sweep(&mut self) -> Reset {
        self.regions.withdraw_all();
        let mut reset = Reset::default();
        for place in self.chunks.by_age() {
            let Some(chunk) = self.chunks.get_mut(place) else { continue };
            let counts = &mut self.counts;
            self.regions.sweep(chunk.first, |region, taken| {
                counts.forget(region.bytes, taken.size);
                chunk.blocks -= 1;
                reset.returned += 1;
            });
            reset.leased += chunk.blocks;
            chunk.asleep = chunk.grown && chunk.blocks == 0;
            self.orphan(place);
        }
        self.first_since_reset = self.next_serial;
        self.offer_anew();
        reset
    }

    /// The blocks that are left in a chunk lose their names.
    fn orphan(&mut self, place: u32) {
        let Some(first) = self.chunks.get(place).map(|chunk| chunk.first) else { return };
        let slots: Vec<u32> = self.regions.of_chunk(first).collect();
        for slot in slots {
            if let Some(taken) = self.regions.taken_mut(slot) {
                taken.orphaned = true;
            }
        }
    }

    /// Offers every free region of every chunk that does not sleep, in an order that depends on
    /// nothing that happened: the oldest chunk's first region is the first to be taken.
    pub(crate) fn offer_anew(&mut self) {
        self.regions.withdraw_all();
        for place in self.chunks.by_age().into_iter().rev() {
            let Some(chunk) = self.chunks.get(place).filter(|chunk| !chunk.asleep) else {
                continue;
            };
            let mut free: Vec<u32> = self.regions.of_chunk(chunk.first).collect();
            free.retain(|&slot| self.regions.is_free(slot));
            for slot in free.into_iter().rev() {
                self.regions.offer(slot);
            }
        }
    }
}
