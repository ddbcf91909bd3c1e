//! A pool's state, which records the owner of every byte. The state consists of plain data,
//! contains no lock, and never calls a source. Before each call, the pool uses
//! [`MissingCapacity`](super::missing_capacity::MissingCapacity) to reserve capacity for the
//! state's lists, so the call itself allocates no memory.
//!
//! If an allocation needs memory from the source, [`BlockLedger::step`] returns an
//! [`AllocationStep`]. The caller performs this step without holding the lock, and then calls
//! `step` again. Memory that is being requested or returned counts as reserved, so the pool never
//! exceeds its maximum size.

use super::chunks::{Chunks, LeavingPieces};
use super::free_index::largest_in;
use super::piece::Piece;
use super::region::{BlockRecord, ChunkRegion};
use super::regions::Regions;
use crate::base::block::{BlockId, BlockState, GraphMemoryBlock};
use crate::base::error::GraphMemoryError;
use crate::base::request::{CHUNK, GRANULE, Request};

/// Memory that the pool is about to request from its source. The pool counts this memory as
/// reserved even before receiving it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Growth {
    pub(crate) bytes: u64,
    /// The number of bytes that the pool would request if it had no size limit.
    wanted: u64,
}

/// The next step of an allocation.
#[derive(Debug)]
pub(crate) enum AllocationStep {
    /// The allocation is complete.
    Taken(GraphMemoryBlock),
    /// The caller must wait until another thread has received memory from the source or returned
    /// memory to it.
    Wait,
    /// The caller must return these pieces to the source to keep the pool below its maximum size.
    GiveBack(LeavingPieces),
    /// The caller must request memory from the source.
    Grow(Growth),
    /// The allocation fails because the source has refused every request.
    GiveUp,
}

/// A pool's state, protected by the pool's lock.
#[derive(Debug)]
pub(crate) struct BlockLedger {
    pub(super) pool: u64,
    pub(super) maximum: u64,
    pub(super) regions: Regions,
    pub(super) chunks: Chunks,
    /// The maximum number of free regions larger than a chunk that the pool's chunks can contain.
    pub(super) largest: u64,
    /// The total size of all chunks in bytes, including chunks that are being requested or
    /// returned.
    pub(super) reserved: u64,
    /// The number of growths in progress, followed by the number of those that request a chunk of
    /// the usual size.
    pub(super) growing: u64,
    pub(super) growing_chunks: u64,
    /// The number of pieces that are being returned to the source.
    pub(super) giving_back: usize,
    /// The number of pieces returned to the source so far.
    pub(super) returns_to_source: u64,
    pub(super) next_serial: u64,
    /// The first serial number assigned after the latest reset. The IDs of all blocks with lower
    /// serial numbers are stale.
    pub(super) first_since_reset: u64,
    pub(super) disposed: bool,
    pub(super) counts: Counts,
}

/// Counters for the pool's statistics.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) blocks: u64,
    pub(super) in_use: u64,
    pub(super) requested: u64,
    pub(super) leased_blocks: u64,
    pub(super) peak_in_use: u64,
    pub(super) peak_reserved: u64,
    pub(super) returned: u64,
    pub(super) growths: u64,
    pub(super) refusals: u64,
    pub(super) resets: u64,
}

impl BlockLedger {
    pub(crate) fn new(pool: u64, maximum: u64) -> Self {
        Self {
            pool,
            maximum,
            regions: Regions::new(),
            chunks: Chunks::new(),
            largest: 0,
            reserved: 0,
            growing: 0,
            growing_chunks: 0,
            giving_back: 0,
            returns_to_source: 0,
            next_serial: 0,
            first_since_reset: 0,
            disposed: false,
            counts: Counts::default(),
        }
    }

    /// Returns the next chunk to request for a new pool, or `None` if the pool has at least
    /// `initial` bytes.
    pub(crate) fn preallocate(&mut self, initial: u64) -> Option<Growth> {
        let room = (self.maximum - self.reserved) / GRANULE * GRANULE;
        let bytes = CHUNK.min(room);
        (self.reserved < initial && bytes > 0).then(|| self.begin_growth(bytes, CHUNK))
    }

    /// Adds a chunk to a new pool. After adding the last chunk, the caller must call
    /// [`offer_anew`](Self::offer_anew).
    pub(crate) fn preallocated(&mut self, growth: Growth, address: u64) {
        self.end_growth(growth);
        let piece = Piece { address, bytes: growth.bytes };
        self.add_chunk(piece, growth.wanted, false);
    }

    /// Returns the next step of an allocation. `refused` is the size of a request that the source
    /// has already refused during this allocation. If `may_wait` is `false`, the result is never
    /// [`AllocationStep::Wait`].
    pub(crate) fn step<E>(
        &mut self,
        request: &Request,
        refused: Option<u64>,
        may_wait: bool,
    ) -> Result<AllocationStep, GraphMemoryError<E>> {
        self.check_alive()?;
        if self.regions.is_full() {
            return Err(GraphMemoryError::TooManyBlocks { blocks: self.regions.count() });
        }
        if let Some(block) = self.take(request) {
            return Ok(AllocationStep::Taken(block));
        }
        let is_waited_for = request.growth() == CHUNK && self.growing_chunks > 0;
        if may_wait && refused.is_none() && is_waited_for {
            return Ok(AllocationStep::Wait);
        }
        let room = self.maximum - self.reserved;
        if request.anywhere > room {
            return self.make_room(request, request.anywhere - room, may_wait);
        }
        let bytes = match refused {
            None => request.growth().min(room / GRANULE * GRANULE),
            Some(bytes) if bytes > request.anywhere => request.anywhere,
            Some(_) => return Ok(self.give_back_or_up(may_wait)),
        };
        Ok(AllocationStep::Grow(self.begin_growth(bytes, request.growth())))
    }

    /// Adds a chunk of memory that the source provided. Allocates the requested block in the new
    /// memory, or returns `None` if the block does not fit.
    pub(crate) fn grown(
        &mut self,
        growth: Growth,
        address: u64,
        request: &Request,
    ) -> Option<GraphMemoryBlock> {
        self.end_growth(growth);
        self.counts.growths += 1;
        let piece = Piece { address, bytes: growth.bytes };
        let place = self.add_chunk(piece, growth.wanted, true);
        let first = self.chunks.get(place)?.first;
        self.carve(first, request)
    }

    /// Ends a growth that added no memory because the source refused the request or because the new
    /// memory was returned.
    pub(crate) fn not_grown(&mut self, growth: Growth) {
        self.end_growth(growth);
        self.reserved -= growth.bytes;
        self.counts.refusals += 1;
    }

    /// Records that a piece has been returned to the source.
    pub(crate) fn gave_back(&mut self, piece: Piece) {
        self.giving_back -= 1;
        self.returns_to_source += 1;
        self.reserved -= piece.bytes;
    }

    /// Returns the block with this ID.
    pub(crate) fn find<E>(&self, id: BlockId) -> Result<GraphMemoryBlock, GraphMemoryError<E>> {
        let slot = self.slot_of(id)?;
        self.block(slot).ok_or(GraphMemoryError::AlreadyReturned { block: id.serial })
    }

    /// Frees the block with this ID.
    pub(crate) fn give<E>(&mut self, id: BlockId) -> Result<(), GraphMemoryError<E>> {
        let slot = self.slot_of(id)?;
        let leases = self.regions.taken(slot).map_or(0, |taken| taken.leases);
        if leases > 0 {
            return Err(GraphMemoryError::LeasedBlock { block: id.serial, leases });
        }
        self.counts.returned += 1;
        self.release(slot);
        Ok(())
    }

    /// Leases all blocks with these IDs, or no block if any ID is invalid. `leased` must have
    /// enough capacity.
    pub(crate) fn lease<E>(
        &mut self,
        ids: &[BlockId],
        leased: &mut Vec<GraphMemoryBlock>,
    ) -> Result<(), GraphMemoryError<E>> {
        self.check_alive()?;
        for &id in ids {
            self.slot_of(id)?;
        }
        for id in ids {
            if let Some(taken) = self.regions.taken_mut(id.slot) {
                self.counts.leased_blocks += u64::from(taken.leases == 0);
                taken.leases += 1;
            }
        }
        leased.extend(ids.iter().filter_map(|id| self.block(id.slot)));
        Ok(())
    }

    /// Ends a lease on these blocks and returns the pieces that must go back to the source.
    pub(crate) fn end_lease(&mut self, blocks: &[GraphMemoryBlock]) -> LeavingPieces {
        for block in blocks {
            // A leased block never moves to a different slot, so the slot still contains this
            // block.
            let Some(taken) = self.regions.taken_mut(block.id.slot) else { continue };
            taken.leases -= 1;
            if taken.leases > 0 {
                continue;
            }
            let orphaned = taken.orphaned;
            self.counts.leased_blocks -= 1;
            if orphaned {
                self.release(block.id.slot);
            }
        }
        if self.disposed { self.take_idle(u64::MAX) } else { LeavingPieces::NOTHING }
    }

    pub(crate) fn returns_to_source(&self) -> u64 {
        self.returns_to_source
    }

    pub(crate) fn is_disposed(&self) -> bool {
        self.disposed
    }

    pub(super) fn check_alive<E>(&self) -> Result<(), GraphMemoryError<E>> {
        if self.disposed { Err(GraphMemoryError::Disposed) } else { Ok(()) }
    }

    /// Returns the slot of the block with this ID, or an error if the ID is invalid.
    fn slot_of<E>(&self, id: BlockId) -> Result<u32, GraphMemoryError<E>> {
        self.check_alive()?;
        if id.pool != self.pool {
            return Err(GraphMemoryError::UnknownBlock { pool: self.pool, made_by: id.pool });
        }
        match self.regions.taken(id.slot) {
            Some(taken) if taken.serial == id.serial && !taken.orphaned => Ok(id.slot),
            _ if id.serial < self.first_since_reset => {
                Err(GraphMemoryError::StaleBlock { block: id.serial })
            }
            _ => Err(GraphMemoryError::AlreadyReturned { block: id.serial }),
        }
    }

    fn block(&self, slot: u32) -> Option<GraphMemoryBlock> {
        let taken = self.regions.taken(slot)?;
        let leased = taken.leases > 0;
        Some(GraphMemoryBlock {
            id: BlockId { pool: self.pool, serial: taken.serial, slot },
            address: self.regions.get(slot)?.address,
            size: taken.size,
            alignment: taken.alignment,
            state: if leased { BlockState::Leased } else { BlockState::Allocated },
        })
    }

    /// Allocates a block from memory that the pool already owns. The method uses the smallest
    /// suitable region in the index. If no region is suitable, the method wakes a sleeping chunk.
    fn take(&mut self, request: &Request) -> Option<GraphMemoryBlock> {
        if let Some(slot) = self.regions.best_fit(request) {
            self.regions.withdraw(slot);
            return self.carve(slot, request);
        }
        let place = self.chunks.to_wake(request)?;
        let chunk = self.chunks.get_mut(place)?;
        chunk.asleep = false;
        let first = chunk.first;
        self.carve(first, request)
    }

    /// Creates a block in a free region that is not in the index.
    fn carve(&mut self, slot: u32, request: &Request) -> Option<GraphMemoryBlock> {
        let taken = BlockRecord {
            serial: self.next_serial,
            size: request.size,
            alignment: request.asked_alignment,
            leases: 0,
            orphaned: false,
        };
        let slot = self.regions.carve(slot, request, taken)?;
        self.next_serial += 1;
        let counts = &mut self.counts;
        counts.blocks += 1;
        counts.in_use += request.bytes;
        counts.requested += request.size;
        counts.peak_in_use = counts.peak_in_use.max(counts.in_use);
        let place = self.regions.get(slot)?.chunk;
        self.chunks.get_mut(place)?.blocks += 1;
        self.block(slot)
    }

    fn release(&mut self, slot: u32) {
        let (Some(&ChunkRegion { bytes, chunk, .. }), Some(&BlockRecord { size, .. })) =
            (self.regions.get(slot), self.regions.taken(slot))
        else {
            return;
        };
        self.counts.forget(bytes, size);
        if let Some(chunk) = self.chunks.get_mut(chunk) {
            chunk.blocks -= 1;
        }
        self.regions.release(slot);
    }

    /// Returns the next step of an allocation that would exceed the pool's maximum size by
    /// `missing` bytes.
    fn make_room<E>(
        &mut self,
        request: &Request,
        missing: u64,
        may_wait: bool,
    ) -> Result<AllocationStep, GraphMemoryError<E>> {
        let idle: u64 = self.idle().map(|(_, bytes)| bytes).sum();
        if idle >= missing {
            return Ok(AllocationStep::GiveBack(self.take_idle(missing)));
        }
        if may_wait && (self.growing > 0 || self.giving_back > 0) {
            return Ok(AllocationStep::Wait);
        }
        Err(self.capacity_exceeded(request))
    }

    /// Returns the error for an allocation that would exceed the pool's maximum size.
    pub(crate) fn capacity_exceeded<E>(&self, request: &Request) -> GraphMemoryError<E> {
        GraphMemoryError::CapacityExceeded {
            requested: request.size,
            used: self.counts.in_use,
            reserved: self.reserved,
            capacity: self.maximum,
        }
    }

    /// Returns the next step after the source has refused a request for the minimum size.
    fn give_back_or_up(&mut self, may_wait: bool) -> AllocationStep {
        let idle = self.take_idle(u64::MAX);
        match idle.pieces {
            0 if may_wait && self.giving_back > 0 => AllocationStep::Wait,
            0 => AllocationStep::GiveUp,
            _ => AllocationStep::GiveBack(idle),
        }
    }

    /// Adds a chunk as a single free region that is not in the index.
    fn add_chunk(&mut self, piece: Piece, wanted: u64, grown: bool) -> u32 {
        self.largest += largest_in(piece.bytes);
        let whole = |place| self.regions.add_whole(piece.address, piece.bytes, place);
        self.chunks.add(piece, wanted, grown, whole)
    }

    fn begin_growth(&mut self, bytes: u64, wanted: u64) -> Growth {
        self.reserved += bytes;
        self.counts.peak_reserved = self.counts.peak_reserved.max(self.reserved);
        self.growing += 1;
        self.growing_chunks += u64::from(wanted == CHUNK);
        Growth { bytes, wanted }
    }

    fn end_growth(&mut self, growth: Growth) {
        self.growing -= 1;
        self.growing_chunks -= u64::from(growth.wanted == CHUNK);
    }
}

impl Counts {
    pub(super) fn forget(&mut self, bytes: u64, size: u64) {
        self.blocks -= 1;
        self.in_use -= bytes;
        self.requested -= size;
    }
}
