//! This project's pool, one for each stream: a table of slots with a block each.
//!
//! A log has no scopes, so they are approximated. An allocation is an acquire of the slot after the highest one in use.
//! A slot is free again once all slots above it are. So each buffer has a scope that ends when the buffer and all later
//! ones are freed. A block that is too small is replaced by one that is larger by a half, or by less if it is large (as
//! in `PoolConfig`). If that is not enough, the new block has exactly the needed size. If it does not fit the capacity,
//! the blocks of idle slots are freed first. The moment in which a block and its successor both exist is not counted.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::simulator::{ALIGNMENT, Full, Simulator, round_up};

/// Up to this size a block grows by the whole factor.
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
    /// The bytes of each slot's block.
    blocks: Vec<u64>,
    used: BTreeSet<usize>,
}

impl Pool {
    /// The slot that the next acquire gets.
    fn cursor(&self) -> usize {
        self.used.last().map_or(0, |last| last + 1)
    }
}

impl Slots {
    pub(super) fn new(capacity: u64) -> Self {
        Self { capacity, pools: BTreeMap::new(), buffers: HashMap::new(), held: 0 }
    }

    /// Gives an idle slot a block of at least `needed` bytes.
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

/// Returns the size to which a block of `old` bytes grows by the factor 1.5, less for large ones.
fn generous(old: u64) -> Option<u64> {
    let small = old.min(WHOLE_FACTOR);
    let added = (small + (old - small) / 4) / 2;
    round_up(old.checked_add(added)?, ALIGNMENT).ok()
}

impl Simulator for Slots {
    /// Slots have no addresses: the result is the slot's number.
    fn allocate(&mut self, buffer: u64, stream: u64, bytes: u64) -> Result<u64, Full> {
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
