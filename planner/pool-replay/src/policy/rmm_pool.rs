//! RMM's `pool_memory_resource`, begun empty or with a size.
//!
//! Sizes are rounded up to 256 bytes. Each stream has its list of free blocks, which are merged
//! with their neighbours. The best fit of the own list is split, else that of another list. Else
//! the other lists are merged into the own one until a block fits; else the pool grows.
//!
//! It grows by the bytes that it holds, so that it doubles, and under a capacity by half of the
//! rest, if that exceeds the request. Other lists are tried in the order in which their streams
//! first occurred (RMM's order is that of its events' addresses).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::free_list::{Block, FreeList};
use super::simulator::{ALIGNMENT, Full, Simulator, round_up};

#[derive(Debug)]
pub(super) struct RmmPool {
    capacity: u64,
    held: u64,
    /// The number of each stream, in the order in which they were first seen.
    streams: HashMap<u64, usize>,
    lists: BTreeMap<usize, FreeList>,
    live: HashMap<u64, Block>,
    /// Base addresses of upstream allocations.
    heads: BTreeSet<u64>,
}

impl RmmPool {
    /// A pool that begins with `initial` bytes, or with the capacity if that is less. They are in the list of stream 0.
    pub(super) fn new(capacity: u64, initial: u64) -> Self {
        let capacity = capacity - capacity % ALIGNMENT;
        let held = round_up(initial, ALIGNMENT).map_or(capacity, |bytes| bytes.min(capacity));
        let mut pool = Self {
            capacity,
            held,
            streams: HashMap::new(),
            lists: BTreeMap::new(),
            live: HashMap::new(),
            heads: BTreeSet::new(),
        };
        if held > 0 {
            pool.heads.insert(0);
            let list = pool.list_of(0);
            let block = Block { address: 0, bytes: held, is_head: true };
            pool.lists.entry(list).or_default().insert(block);
        }
        pool
    }

    fn list_of(&mut self, stream: u64) -> usize {
        let next = self.streams.len();
        let number = *self.streams.entry(stream).or_insert(next);
        self.lists.entry(number).or_default();
        number
    }

    /// Returns a block from the lists, and the list that gets the rest of it.
    fn cached(&mut self, own: usize, bytes: u64) -> Option<(Block, usize)> {
        if let Some(block) = self.lists.get_mut(&own)?.take_best_fit(bytes) {
            return Some((block, own));
        }
        for (&number, list) in &mut self.lists {
            if let Some(block) = list.take_best_fit(bytes) {
                return Some((block, number));
            }
        }
        let others: Vec<usize> = self.lists.keys().copied().filter(|&one| one != own).collect();
        for other in others {
            let blocks = self.lists.remove(&other)?;
            let list = self.lists.get_mut(&own)?;
            blocks.into_blocks().for_each(|block| list.insert(block));
            if let Some(block) = list.take_best_fit(bytes) {
                return Some((block, own));
            }
        }
        None
    }

    /// A new piece of the device's memory.
    fn grow(&mut self, bytes: u64) -> Result<Block, Full> {
        let left = self.capacity - self.held;
        if bytes > left {
            return Err(Full);
        }
        let asked = if self.is_unlimited() { bytes.max(self.held) } else { bytes.max(left / 2) };
        let grown = if asked <= left { asked } else { bytes };
        let block = Block { address: self.held, bytes: grown, is_head: true };
        self.heads.insert(block.address);
        self.held += grown;
        Ok(block)
    }

    fn is_unlimited(&self) -> bool {
        self.capacity == u64::MAX - u64::MAX % ALIGNMENT
    }
}

impl Simulator for RmmPool {
    fn allocate(&mut self, buffer: u64, stream: u64, bytes: u64) -> Result<u64, Full> {
        let bytes = round_up(bytes, ALIGNMENT)?;
        let own = self.list_of(stream);
        let (block, list) = match self.cached(own, bytes) {
            Some(found) => found,
            None => (self.grow(bytes)?, own),
        };
        if block.bytes > bytes {
            let (address, bytes) = (block.address + bytes, block.bytes - bytes);
            self.lists.entry(list).or_default().insert(Block { address, bytes, is_head: false });
        }
        self.live.insert(buffer, Block { bytes, ..block });
        Ok(block.address)
    }

    fn free(&mut self, buffer: u64, stream: u64) {
        let Some(block) = self.live.remove(&buffer) else { return };
        let own = self.list_of(stream);
        let is_head = self.heads.contains(&block.address);
        self.lists.entry(own).or_default().insert(Block { is_head, ..block });
    }

    fn held(&self) -> u64 {
        self.held
    }

    fn taken(&self, buffer: u64) -> u64 {
        self.live.get(&buffer).map_or(0, |block| block.bytes)
    }
}
