//! PyTorch's caching allocator with its default settings.
//!
//! Sizes are rounded up to 512 bytes. Buffers of up to 1 MiB are small, and are taken from segments
//! of 2 MiB. Buffers of up to 10 MiB are taken from segments of 20 MiB. Each larger buffer has its
//! own segment, whose size is rounded up to 2 MiB.
//!
//! A buffer is placed in the smallest cached block of its stream and size class, or the lowest of
//! several such blocks. The block is split if 512 bytes remain in a small block, or more than 1 MiB
//! in a large one. Free neighbours within a segment are merged. If a new segment does not fit
//! within the capacity, segments that are completely free are returned first.
//!
//! A captured graph or a `MemPool` allocates from a private pool, which shares no segments with
//! other pools. The segments of a private pool are never returned before the pool is released. After
//! the release, each segment is returned as soon as it is completely free.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::simulator::{DEFAULT_POOL, Full, PoolId, Simulator, round_up};

const MIN_BLOCK: u64 = 512;
const SMALL_SIZE: u64 = 1 << 20;
const SMALL_SEGMENT: u64 = 2 << 20;
const LARGE_SEGMENT: u64 = 20 << 20;
const MIN_LARGE: u64 = 10 << 20;
const ROUND_LARGE: u64 = 2 << 20;

/// The class of a free block: the pool, the stream, and `true` for small buffers.
type Class = (PoolId, u64, bool);

#[derive(Clone, Copy, Debug)]
struct Block {
    bytes: u64,
    class: Class,
    /// The start of the segment that contains the block.
    segment: u64,
    is_free: bool,
}

#[derive(Debug)]
pub(super) struct Caching {
    capacity: u64,
    held: u64,
    /// The start of the next segment. Addresses are not reused.
    next: u64,
    /// The size of each segment in bytes.
    segments: BTreeMap<u64, u64>,
    /// All blocks, free or not.
    blocks: BTreeMap<u64, Block>,
    free: BTreeMap<Class, BTreeSet<(u64, u64)>>,
    live: HashMap<u64, u64>,
    held_by: HashMap<PoolId, u64>,
    /// The private pools that have been released.
    released: HashSet<PoolId>,
}

impl Caching {
    pub(super) fn new(capacity: u64) -> Self {
        Self {
            capacity,
            held: 0,
            next: 0,
            segments: BTreeMap::new(),
            blocks: BTreeMap::new(),
            free: BTreeMap::new(),
            live: HashMap::new(),
            held_by: HashMap::new(),
            released: HashSet::new(),
        }
    }

    /// Removes the smallest free block that is large enough from the cache, and returns it.
    fn cached(&mut self, class: Class, bytes: u64) -> Option<u64> {
        let free = self.free.get_mut(&class)?;
        let best = *free.range((bytes, 0)..).next()?;
        free.remove(&best);
        Some(best.1)
    }

    /// Takes a new segment from the device.
    fn reserve(&mut self, class: Class, bytes: u64) -> Result<u64, Full> {
        let size = segment_bytes(bytes)?;
        if size > self.capacity - self.held {
            self.release_cached(DEFAULT_POOL);
        }
        if size > self.capacity - self.held {
            return Err(Full);
        }
        let address = self.next;
        // Segments are one byte apart, so that no two of them touch.
        self.next = address.checked_add(size).and_then(|end| end.checked_add(1)).ok_or(Full)?;
        self.held += size;
        *self.held_by.entry(class.0).or_default() += size;
        self.segments.insert(address, size);
        self.blocks.insert(address, Block { bytes: size, class, segment: address, is_free: false });
        Ok(address)
    }

    /// Returns the segments of a pool that are completely free to the device.
    fn release_cached(&mut self, pool: PoolId) {
        let classes = (pool, 0, false)..=(pool, u64::MAX, true);
        for (_, free) in self.free.range_mut(classes) {
            free.retain(|&(bytes, address)| {
                let is_whole = self.segments.get(&address) == Some(&bytes);
                if is_whole {
                    self.segments.remove(&address);
                    self.blocks.remove(&address);
                    self.held -= bytes;
                    *self.held_by.entry(pool).or_default() -= bytes;
                }
                !is_whole
            });
        }
    }

    /// Splits a block, and frees the part after its first bytes.
    fn split(&mut self, address: u64, bytes: u64) {
        let Some(block) = self.blocks.get_mut(&address) else { return };
        block.is_free = false;
        let (left, class) = (block.bytes - bytes, block.class);
        let is_split = if class.2 { left >= MIN_BLOCK } else { left > SMALL_SIZE };
        if !is_split {
            return;
        }
        block.bytes = bytes;
        let rest = Block { bytes: left, is_free: true, ..*block };
        self.blocks.insert(address + bytes, rest);
        self.free.entry(class).or_default().insert((left, address + bytes));
    }

    /// Removes a free block from the cache if it belongs to the segment.
    fn take_free(&mut self, address: u64, segment: u64) -> Option<Block> {
        let block = *self.blocks.get(&address)?;
        if !block.is_free || block.segment != segment {
            return None;
        }
        self.blocks.remove(&address);
        self.free.get_mut(&block.class)?.remove(&(block.bytes, address));
        Some(block)
    }
}

/// Returns the size of the segment that is taken for a buffer.
fn segment_bytes(bytes: u64) -> Result<u64, Full> {
    if bytes <= SMALL_SIZE {
        return Ok(SMALL_SEGMENT);
    }
    if bytes < MIN_LARGE { Ok(LARGE_SEGMENT) } else { round_up(bytes, ROUND_LARGE) }
}

impl Simulator for Caching {
    fn allocate(
        &mut self,
        pool: PoolId,
        buffer: u64,
        stream: u64,
        bytes: u64,
    ) -> Result<u64, Full> {
        let bytes = round_up(bytes, MIN_BLOCK)?;
        let class = (pool, stream, bytes <= SMALL_SIZE);
        // A pool that is used again is no longer released.
        self.released.remove(&pool);
        let address = match self.cached(class, bytes) {
            Some(address) => address,
            None => self.reserve(class, bytes)?,
        };
        self.split(address, bytes);
        self.live.insert(buffer, address);
        Ok(address)
    }

    /// A freed block returns to the stream on which it was allocated.
    fn free(&mut self, buffer: u64, _stream: u64) {
        let Some(mut address) = self.live.remove(&buffer) else { return };
        let Some(mut block) = self.blocks.remove(&address) else { return };
        if let Some(next) = self.take_free(address + block.bytes, block.segment) {
            block.bytes += next.bytes;
        }
        let previous = self.blocks.range(..address).next_back().map(|(&address, _)| address);
        let previous =
            previous.and_then(|lower| Some((lower, self.take_free(lower, block.segment)?)));
        if let Some((lower, previous)) = previous {
            block.bytes += previous.bytes;
            address = lower;
        }
        self.blocks.insert(address, Block { is_free: true, ..block });
        self.free.entry(block.class).or_default().insert((block.bytes, address));
        if self.released.contains(&block.class.0) {
            self.release_cached(block.class.0);
        }
    }

    fn release_pool(&mut self, pool: PoolId) {
        if pool != DEFAULT_POOL {
            self.released.insert(pool);
            self.release_cached(pool);
        }
    }

    fn held_by(&self, pool: PoolId) -> Option<u64> {
        Some(self.held_by.get(&pool).copied().unwrap_or(0))
    }

    fn held(&self) -> u64 {
        self.held
    }

    fn taken(&self, buffer: u64) -> u64 {
        let block = self.live.get(&buffer).and_then(|address| self.blocks.get(address));
        block.map_or(0, |block| block.bytes)
    }
}
