//! This project's pool, with one pool for each stream. A pool is a table of slots with one block
//! each.
//!
//! A log contains no scopes, so the simulator approximates them. An allocation acquires the slot
//! after the highest one in use. A slot becomes free once all slots above it are free, as if each
//! buffer had been acquired in a scope that ends when the buffer and all later ones are freed. A
//! block that is too small is replaced by a block that is 1.5 times as large, with a smaller factor
//! for large blocks (as in `PoolConfig`). If the larger block does not fit within the capacity, the
//! new block has exactly the required size. If even a block of this size does not fit, the blocks
//! of idle slots are freed first. The simulator ignores the moment at which both a block and its
//! replacement exist.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::simulator::{ALIGNMENT, Full, PoolId, Simulator, round_up};

/// The size up to which a block grows by the full factor.
const WHOLE_FACTOR: u64 = 64 << 10;

#[derive(Debug)]
pub(super) struct Slots {
    capacity: u64,
    pools: BTreeMap<u64, Pool>,
    /// The stream and slot of each buffer.
    buffers: HashMap<u64, (u64, usize)>,
    held: u64,
}

#[derive(Debug, Default)]
struct Pool {
    /// The size of each slot's block in bytes.
    blocks: Vec<u64>,
    used: BTreeSet<usize>,
}

impl Pool {
    /// Returns the slot that the next acquire uses.
    fn cursor(&self) -> usize {
        self.used.last().map_or(0, |last| last + 1)
    }
}

impl Slots {
    pub(super) fn new(capacity: u64) -> Self {
        Self { capacity, pools: BTreeMap::new(), buffers: HashMap::new(), held: 0 }
    }

    /// Replaces the block of an idle slot by one of at least `needed` bytes.
    fn grow(&mut self, stream: u64, slot: usize, needed: u64) -> Result<(), Full> {
        let old = self.pools[&stream].blocks[slot];
        let others = self.held - old;
        let room = self.capacity.saturating_sub(others);
        let generous = generous(old).filter(|&bytes| bytes > needed && bytes <= room);
        let bytes = generous.unwrap_or(needed);
        if bytes <= room {
            self.install(stream, slot, bytes);
            return Ok(());
        }
        self.trim();
        if needed > self.capacity.saturating_sub(self.held) {
            return Err(Full);
        }
        self.install(stream, slot, needed);
        Ok(())
    }

    fn install(&mut self, stream: u64, slot: usize, bytes: u64) {
        if let Some(pool) = self.pools.get_mut(&stream) {
            self.held = self.held - pool.blocks[slot] + bytes;
            pool.blocks[slot] = bytes;
        }
    }

    /// Frees the blocks of idle slots.
    fn trim(&mut self) {
        for pool in self.pools.values_mut() {
            let cursor = pool.cursor();
            for block in pool.blocks.iter_mut().skip(cursor) {
                self.held -= std::mem::take(block);
            }
        }
    }
}

/// Returns the size to which a block of `old` bytes grows. The factor is 1.5, or less for large
/// blocks.
fn generous(old: u64) -> Option<u64> {
    let small = old.min(WHOLE_FACTOR);
    let added = (small + (old - small) / 4) / 2;
    round_up(old.checked_add(added)?, ALIGNMENT).ok()
}

impl Simulator for Slots {
    /// Slots have no addresses, so the result is the slot's number.
    fn allocate(&mut self, _: PoolId, buffer: u64, stream: u64, bytes: u64) -> Result<u64, Full> {
        let needed = round_up(bytes, ALIGNMENT)?;
        let pool = self.pools.entry(stream).or_default();
        let slot = pool.cursor();
        if slot == pool.blocks.len() {
            pool.blocks.push(0);
        }
        if pool.blocks[slot] < needed {
            self.grow(stream, slot, needed)?;
        }
        if let Some(pool) = self.pools.get_mut(&stream) {
            pool.used.insert(slot);
        }
        self.buffers.insert(buffer, (stream, slot));
        Ok(slot as u64)
    }

    fn free(&mut self, buffer: u64, _stream: u64) {
        let Some((stream, slot)) = self.buffers.remove(&buffer) else { return };
        if let Some(pool) = self.pools.get_mut(&stream) {
            pool.used.remove(&slot);
        }
    }

    fn held(&self) -> u64 {
        self.held
    }

    fn taken(&self, buffer: u64) -> u64 {
        let place = self.buffers.get(&buffer);
        place
            .and_then(|(stream, slot)| self.pools.get(stream)?.blocks.get(*slot))
            .map_or(0, |&one| one)
    }
}
