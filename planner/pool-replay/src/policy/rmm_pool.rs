//! RMM's `pool_memory_resource`, which starts empty or with an initial size.
//!
//! Sizes are rounded up to 256 bytes. Each stream has its own list of free blocks, which are merged
//! with their neighbours. An allocation splits the best fit in the stream's own list, or else the
//! best fit in another list. If no list contains a block that fits, the other lists are merged into
//! the stream's own list until a block fits. If no merged block fits, the pool grows.
//!
//! The pool grows by the number of bytes that it holds, which doubles its size. If there is a
//! capacity, the pool grows by half of the remaining bytes, provided that this exceeds the request.
//! Other lists are tried in the order in which their streams first occurred (RMM uses the order of
//! the addresses of its events).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::free_list::{Block, FreeList};
use super::simulator::{ALIGNMENT, Full, PoolId, Simulator, round_up};

#[derive(Debug)]
pub(super) struct RmmPool {
    capacity: u64,
    held: u64,
    /// The number of each stream, in the order in which the streams were first seen.
    streams: HashMap<u64, usize>,
    lists: BTreeMap<usize, FreeList>,
    live: HashMap<u64, Block>,
    /// The base addresses of upstream allocations.
    heads: BTreeSet<u64>,
}

impl RmmPool {
    /// Creates a pool that starts with `initial` bytes, or with the capacity if that is less. The
    /// initial bytes are in the list of stream 0.
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

    /// Returns a block from one of the lists, and the list that receives the rest of the block.
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

    /// Takes a new piece from the device.
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
    fn allocate(&mut self, _: PoolId, buffer: u64, stream: u64, bytes: u64) -> Result<u64, Full> {
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
