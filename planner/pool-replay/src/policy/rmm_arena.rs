//! RMM's `arena_memory_resource`, an arena for each stream.
//!
//! Sizes are rounded up to 256 bytes. The device's memory is cut into superblocks of at least 1 MiB. A buffer of more
//! than 1 MiB gets the first range that is large enough in the superblocks of the global arena. A smaller one gets it
//! in those of its stream. If none has room, the stream takes a superblock from the global arena. An empty superblock
//! is cut if at least 1 MiB is left. Freed memory returns to its superblock. Empty ones are merged with empty
//! neighbours in the global arena; those of streams return to it only when there is no room.
//!
//! RMM allocates the whole arena on the device at once, by default half of the free memory. Here it has the given size,
//! else half of the capacity; without either, it is as large as the addresses that were used.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::simulator::{ALIGNMENT, Full, Simulator, round_up};

const MIN_SUPERBLOCK: u64 = 1 << 20;

/// The arena of all streams; the others are numbered from 1.
const GLOBAL: usize = 0;

/// A range of addresses with its free blocks.
#[derive(Debug)]
struct Superblock {
    bytes: u64,
    arena: usize,
    /// The bytes of each free block, by address.
    free: BTreeMap<u64, u64>,
    /// The same, by size.
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

    /// The bytes of the largest free block.
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

    /// Puts a block back, merged with its neighbours.
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

/// The superblocks of an arena by the power of two of their largest free block, so that the first one that has room is
/// found without looking at all.
#[derive(Debug, Default)]
struct Index(BTreeMap<u32, BTreeSet<u64>>);

#[derive(Debug)]
pub(super) struct RmmArena {
    /// The bytes of the arena, where they are limited.
    size: Option<u64>,
    /// The end of the highest superblock that was used.
    used: u64,
    streams: HashMap<u64, usize>,
    superblocks: BTreeMap<u64, Superblock>,
    indices: HashMap<usize, Index>,
    live: HashMap<u64, (u64, u64)>,
}

impl RmmArena {
    /// An arena of `initial` bytes, or of half of the capacity.
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
        // Addresses and sums of them fit numbers with a sign.
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

    /// The first superblock of an arena that has room.
    fn first(&self, arena: usize, bytes: u64) -> Option<u64> {
        let class = bytes.checked_ilog2()?;
        let index = &self.indices.get(&arena)?.0;
        // Of the same class some have room, of larger ones all.
        let has_room = |address: &&u64| {
            self.superblocks.get(*address).is_some_and(|one| one.largest() >= bytes)
        };
        let same = index.get(&class).and_then(|set| set.iter().find(has_room));
        let larger = index.range(class + 1..).filter_map(|(_, set)| set.first());
        larger.chain(same).min().copied()
    }

    /// Takes the first superblock of the global arena that has room, cut where it is empty and much larger.
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

    /// The address of a buffer, in its stream's arena or the global one.
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

    /// Gives the empty superblocks of all streams back to the global arena.
    fn defragment(&mut self) {
        let is_idle = |one: &Superblock| one.arena != GLOBAL && one.is_empty();
        let idle = self.superblocks.iter().filter(|(_, one)| is_idle(one));
        for address in idle.map(|(&address, _)| address).collect::<Vec<_>>() {
            if let Some(superblock) = self.extract(address) {
                self.release(address, superblock.bytes);
            }
        }
    }

    /// Puts an empty superblock into the global arena, merged with its empty neighbours there.
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
    fn allocate(&mut self, buffer: u64, stream: u64, bytes: u64) -> Result<u64, Full> {
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

    /// A block returns to its superblock, by any stream's free.
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
