//! RMM's `arena_memory_resource`, with an arena for each stream.
//!
//! Sizes are rounded up to 256 bytes. The device's memory is divided into superblocks of at least 1
//! MiB. A buffer of more than 1 MiB is placed in the first range that is large enough in the
//! superblocks of the global arena. A smaller buffer is placed in the same way in the superblocks
//! of its stream. If none of the stream's superblocks has room, the stream takes a superblock from
//! the global arena. An empty superblock is split if at least 1 MiB remains. Freed memory returns
//! to its superblock. In the global arena, empty superblocks are merged with empty neighbours.
//! Empty superblocks of streams return to the global arena only when there is no room.
//!
//! RMM takes the whole arena from the device at the start. By default, the arena takes half of the
//! free memory. The simulated arena has the given size. Without a given size, it has half of the
//! capacity. If there is no capacity either, the arena is as large as the addresses that were used.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::simulator::{ALIGNMENT, Full, PoolId, Simulator, round_up};

const MIN_SUPERBLOCK: u64 = 1 << 20;

/// The global arena. The arenas of streams are numbered from 1.
const GLOBAL: usize = 0;

/// A range of addresses with its free blocks.
#[derive(Debug)]
struct Superblock {
    bytes: u64,
    arena: usize,
    /// The size of each free block in bytes, by address.
    free: BTreeMap<u64, u64>,
    /// The free blocks, sorted by size.
    by_size: BTreeSet<(u64, u64)>,
}

impl Superblock {
    fn empty(address: u64, bytes: u64, arena: usize) -> Self {
        let mut superblock = Self { bytes, arena, free: BTreeMap::new(), by_size: BTreeSet::new() };
        superblock.add(address, bytes);
        superblock
    }

    fn add(&mut self, address: u64, bytes: u64) {
        self.free.insert(address, bytes);
        self.by_size.insert((bytes, address));
    }

    fn remove(&mut self, address: u64) -> Option<u64> {
        let bytes = self.free.remove(&address)?;
        self.by_size.remove(&(bytes, address));
        Some(bytes)
    }

    /// Returns the size of the largest free block in bytes.
    fn largest(&self) -> u64 {
        self.by_size.last().map_or(0, |&(bytes, _)| bytes)
    }

    fn is_empty(&self) -> bool {
        self.largest() == self.bytes
    }

    /// Takes the first block that is large enough.
    fn take(&mut self, bytes: u64) -> Option<u64> {
        let (&address, &all) = self.free.iter().find(|&(_, &all)| all >= bytes)?;
        self.remove(address);
        if all > bytes {
            self.add(address + bytes, all - bytes);
        }
        Some(address)
    }

    /// Returns a block, and merges it with its neighbours.
    fn put(&mut self, mut address: u64, mut bytes: u64) {
        if let Some(next) = self.remove(address + bytes) {
            bytes += next;
        }
        let previous = self.free.range(..address).next_back().map(|(&at, &bytes)| (at, bytes));
        if let Some((at, before)) = previous.filter(|&(at, before)| at + before == address) {
            self.remove(at);
            (address, bytes) = (at, before + bytes);
        }
        self.add(address, bytes);
    }
}

/// The superblocks of an arena, grouped by the power of two of their largest free block. With the
/// groups, the first superblock with room is found without visiting all superblocks.
#[derive(Debug, Default)]
struct Index(BTreeMap<u32, BTreeSet<u64>>);

#[derive(Debug)]
pub(super) struct RmmArena {
    /// The size of the arena in bytes, if it is limited.
    size: Option<u64>,
    /// The end of the highest superblock that was used.
    used: u64,
    streams: HashMap<u64, usize>,
    superblocks: BTreeMap<u64, Superblock>,
    indices: HashMap<usize, Index>,
    live: HashMap<u64, (u64, u64)>,
}

impl RmmArena {
    /// Creates an arena of `initial` bytes, or of half of the capacity.
    pub(super) fn new(capacity: u64, initial: u64) -> Self {
        let size = match initial {
            0 if capacity == u64::MAX => None,
            0 => Some(capacity / 2),
            initial => Some(initial.min(capacity)),
        };
        let size = size.map(|size| size - size % ALIGNMENT);
        let mut arena = Self {
            size,
            used: 0,
            streams: HashMap::new(),
            superblocks: BTreeMap::new(),
            indices: HashMap::new(),
            live: HashMap::new(),
        };
        // Addresses and their sums fit in signed numbers.
        let bytes = size.unwrap_or(1 << 62).min(1 << 62);
        if bytes >= MIN_SUPERBLOCK {
            arena.insert(0, Superblock::empty(0, bytes, GLOBAL));
        }
        arena
    }

    fn arena_of(&mut self, stream: u64) -> usize {
        let next = self.streams.len() + 1;
        *self.streams.entry(stream).or_insert(next)
    }

    fn insert(&mut self, address: u64, superblock: Superblock) {
        let class = superblock.largest().checked_ilog2();
        let index = self.indices.entry(superblock.arena).or_default();
        class.map(|class| index.0.entry(class).or_default().insert(address));
        self.superblocks.insert(address, superblock);
    }

    fn extract(&mut self, address: u64) -> Option<Superblock> {
        let superblock = self.superblocks.remove(&address)?;
        let index = self.indices.get_mut(&superblock.arena);
        let class = superblock.largest().checked_ilog2();
        let set = index.zip(class).and_then(|(index, class)| index.0.get_mut(&class));
        set.map(|set| set.remove(&address));
        Some(superblock)
    }

    /// Returns the first superblock of an arena that has room.
    fn first(&self, arena: usize, bytes: u64) -> Option<u64> {
        let class = bytes.checked_ilog2()?;
        let index = &self.indices.get(&arena)?.0;
        // A superblock of the same class may have room. Every superblock of a higher class has
        // room.
        let has_room = |address: &&u64| {
            self.superblocks.get(*address).is_some_and(|one| one.largest() >= bytes)
        };
        let same = index.get(&class).and_then(|set| set.iter().find(has_room));
        let larger = index.range(class + 1..).filter_map(|(_, set)| set.first());
        larger.chain(same).min().copied()
    }

    /// Takes the first superblock of the global arena that has room. The superblock is split if it
    /// is empty and much larger than required.
    fn acquire(&mut self, bytes: u64) -> Option<(u64, Superblock)> {
        let address = self.first(GLOBAL, bytes)?;
        let mut superblock = self.extract(address)?;
        let least = bytes.max(MIN_SUPERBLOCK);
        if superblock.is_empty() && superblock.bytes >= least + MIN_SUPERBLOCK {
            let rest = superblock.bytes - least;
            self.insert(address + least, Superblock::empty(address + least, rest, GLOBAL));
            superblock = Superblock::empty(address, least, GLOBAL);
        }
        self.used = self.used.max(address + superblock.bytes);
        Some((address, superblock))
    }

    /// Returns the address of a buffer. The buffer is placed in its stream's arena or in the global
    /// arena.
    fn place(&mut self, own: usize, bytes: u64) -> Option<u64> {
        let is_large = bytes > MIN_SUPERBLOCK;
        let (at, mut superblock) = match self.first(own, bytes).filter(|_| !is_large) {
            Some(at) => (at, self.extract(at)?),
            None => self.acquire(bytes)?,
        };
        if !is_large {
            superblock.arena = own;
        }
        let address = superblock.take(bytes);
        self.insert(at, superblock);
        address
    }

    /// Returns the empty superblocks of all streams to the global arena.
    fn defragment(&mut self) {
        let is_idle = |one: &Superblock| one.arena != GLOBAL && one.is_empty();
        let idle = self.superblocks.iter().filter(|(_, one)| is_idle(one));
        for address in idle.map(|(&address, _)| address).collect::<Vec<_>>() {
            if let Some(superblock) = self.extract(address) {
                self.release(address, superblock.bytes);
            }
        }
    }

    /// Adds an empty superblock to the global arena, and merges it with empty neighbours.
    fn release(&mut self, mut address: u64, mut bytes: u64) {
        let is_idle = |one: &Superblock| one.arena == GLOBAL && one.is_empty();
        if self.superblocks.get(&(address + bytes)).is_some_and(is_idle) {
            bytes += self.extract(address + bytes).map_or(0, |next| next.bytes);
        }
        let previous = self.superblocks.range(..address).next_back();
        let touches = |at: u64, one: &Superblock| at + one.bytes == address && is_idle(one);
        if let Some(at) = previous.filter(|&(&at, one)| touches(at, one)).map(|(&at, _)| at) {
            bytes += self.extract(at).map_or(0, |before| before.bytes);
            address = at;
        }
        self.insert(address, Superblock::empty(address, bytes, GLOBAL));
    }
}

impl Simulator for RmmArena {
    fn allocate(&mut self, _: PoolId, buffer: u64, stream: u64, bytes: u64) -> Result<u64, Full> {
        let bytes = round_up(bytes.max(1), ALIGNMENT)?;
        let own = self.arena_of(stream);
        let address = match self.place(own, bytes) {
            Some(address) => address,
            None => {
                self.defragment();
                self.place(own, bytes).ok_or(Full)?
            }
        };
        self.live.insert(buffer, (address, bytes));
        Ok(address)
    }

    /// A freed block returns to its superblock, regardless of the stream that frees it.
    fn free(&mut self, buffer: u64, stream: u64) {
        let Some((address, bytes)) = self.live.remove(&buffer) else { return };
        self.arena_of(stream);
        let at = self.superblocks.range(..=address).next_back().map(|(&at, _)| at);
        let Some((at, mut superblock)) = at.and_then(|at| Some((at, self.extract(at)?))) else {
            return;
        };
        superblock.put(address, bytes);
        if superblock.arena == GLOBAL && superblock.is_empty() {
            self.release(at, superblock.bytes);
        } else {
            self.insert(at, superblock);
        }
    }

    fn held(&self) -> u64 {
        self.size.unwrap_or(self.used)
    }

    fn taken(&self, buffer: u64) -> u64 {
        self.live.get(&buffer).map_or(0, |&(_, bytes)| bytes)
    }
}
