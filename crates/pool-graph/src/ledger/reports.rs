//! The values that a [`BlockLedger`] reports, such as its statistics.

use pool_core::Device;

use super::region::State;
use super::state::BlockLedger;
use super::stats::GraphPoolStats;

impl BlockLedger {
    pub(crate) fn reserved(&self) -> u64 {
        self.reserved
    }

    /// Returns the total sizes of all allocated blocks and of all reserved memory, in bytes.
    pub(crate) fn used_and_reserved(&self) -> (u64, u64) {
        (self.counts.in_use, self.reserved)
    }

    pub(crate) fn region_count(&self) -> u64 {
        self.regions.count()
    }

    pub(crate) fn stats(&self, device: Device) -> GraphPoolStats {
        let counts = &self.counts;
        let (mut held, mut scattered, mut leased_bytes) = (0, 0, 0);
        let (mut chunks, mut largest) = (0, 0);
        for (_, chunk) in self.chunks.all() {
            chunks += 1;
            held += chunk.piece.bytes;
            let (mut free, mut most) = (0, 0);
            for region in
                self.regions.of_chunk(chunk.first).filter_map(|slot| self.regions.get(slot))
            {
                match region.state {
                    State::Taken(taken) if taken.leases > 0 => {
                        leased_bytes += region.bytes;
                    }
                    State::Free { .. } => {
                        free += region.bytes;
                        most = most.max(region.bytes);
                    }
                    _ => {}
                }
            }
            scattered += free - most;
            largest = largest.max(most);
        }
        GraphPoolStats {
            device,
            pool: self.pool,
            reserved_bytes: self.reserved,
            peak_reserved_bytes: counts.peak_reserved,
            maximum_bytes: self.maximum,
            in_use_bytes: counts.in_use,
            peak_in_use_bytes: counts.peak_in_use,
            requested_bytes: counts.requested,
            leased_bytes,
            free_bytes: held - counts.in_use,
            largest_free_bytes: largest,
            scattered_free_bytes: scattered,
            chunks,
            blocks: self.regions.count(),
            allocated_blocks: counts.blocks,
            leased_blocks: counts.leased_blocks,
            allocations: self.next_serial,
            returns: counts.returned,
            growths: counts.growths,
            refusals: counts.refusals,
            resets: counts.resets,
            disposed: self.disposed,
        }
    }
}
