//! Addresses and their bytes: regions of addresses, blocks of bytes.
//!
//! A block is the bytes of one allocation. A region is a range of addresses that maps to a block;
//! mapped pages may have several. Device addresses are not addresses of the host. Addresses of
//! plain allocations are never reused, so a stale one is always detected. Those of pools and graphs
//! are reused, as on hardware.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::shadow::Shadow;
use crate::report::Mistake;

/// The pattern of new device memory.
pub(crate) const POISON_NEW: u8 = 0xA5;
/// The pattern of freed device memory, written in stream order.
pub(crate) const POISON_FREED: u8 = 0xDD;

/// The granularity and alignment of an allocation by the driver, in bytes.
pub(crate) const UNIT: usize = 512;
/// The granularity of an allocation of the device, in bytes.
pub(crate) const PAGE: usize = 2 << 20;

/// Part of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) block: usize,
    pub(crate) start: usize,
    pub(crate) len: usize,
}

/// The source of a region, which decides how it may be freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Plain,
    Pool(usize),
    Graph,
    Mapped {
        pages: usize,
        allowed: bool,
    },
    Pinned,
    /// Memory of the program that it has page-locked.
    Registered,
    /// A variable of a module.
    Module,
}

impl Origin {
    /// Returns `true` if the bytes are the host's, and not a block's.
    pub(crate) fn is_of_the_host(self) -> bool {
        matches!(self, Self::Pinned | Self::Registered)
    }
}

/// A range of addresses that maps to a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    pub(crate) start: u64,
    pub(crate) len: usize,
    pub(crate) block: usize,
    pub(crate) device: usize,
    pub(crate) origin: Origin,
}

/// The bytes of one allocation.
#[derive(Debug, Default)]
pub(crate) struct Block {
    /// The bytes; empty for host memory, which is elsewhere, and after the block was dropped.
    pub(crate) bytes: Vec<u8>,
    pub(crate) shadow: Shadow,
}

/// All current and former regions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Regions {
    live: BTreeMap<u64, Region>,
    freed: BTreeMap<u64, Region>,
}

/// The whole memory.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// The regions, shared with waiting kernels, which see the regions at their launch.
    regions: Arc<Regions>,
    pub(crate) blocks: Vec<Block>,
    next_address: u64,
}

/// Not an address of any host: there bits 48 and up are all equal.
const FIRST_ADDRESS: u64 = 0x00D0_0000_0000_0000;

/// The largest reservation, so that addresses are never exhausted.
pub(crate) const LARGEST: usize = 1 << 40;

/// Returns `true` if an address may be one of a device.
pub(crate) fn is_device_address(address: u64) -> bool {
    address >= FIRST_ADDRESS
}

/// The description of an invalid address.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) mistake: Mistake,
    pub(crate) text: String,
}

impl Regions {
    /// Returns the region that contains an address.
    pub(crate) fn at(&self, address: u64) -> Option<&Region> {
        let (_, region) = self.live.range(..=address).next_back()?;
        region.contains(address).then_some(region)
    }

    /// Describes the mistake with bytes at an address.
    pub(crate) fn trouble(&self, address: u64, len: usize) -> Trouble {
        let what = format!("{len} bytes at {address:#x}");
        if let Some(region) = self.at(address) {
            let text = format!("{what}: {region} ends {} bytes after that", region.left(address));
            return Trouble { mistake: Mistake::OutOfBounds, text };
        }
        let before = |map: &BTreeMap<u64, Region>| {
            map.range(..=address).next_back().map(|(_, region)| *region)
        };
        if let Some(region) = before(&self.freed).filter(|region| region.contains(address)) {
            let text = format!("{what}: {region} was freed");
            return Trouble { mistake: Mistake::UseAfterFree, text };
        }
        let near = |region: &Region| address - region.end() < UNIT as u64;
        if let Some(region) = before(&self.live).filter(near) {
            let text = format!("{what}: {region} ended {} bytes before", address - region.end());
            return Trouble { mistake: Mistake::OutOfBounds, text };
        }
        Trouble { mistake: Mistake::WildAddress, text: format!("{what}: nothing was ever there") }
    }
}

impl Memory {
    /// Returns new addresses with a gap after them, for at most `LARGEST` bytes.
    pub(crate) fn fresh_address(&mut self, bytes: usize) -> u64 {
        let align = if bytes >= PAGE { PAGE } else { UNIT } as u64;
        let next = self.next_address.max(FIRST_ADDRESS);
        let start = next.next_multiple_of(align);
        self.next_address = start + (bytes as u64).next_multiple_of(UNIT as u64) + UNIT as u64;
        start
    }

    /// Returns `true` if an address may have been allocated before.
    pub(crate) fn was_given(&self, address: u64) -> bool {
        address < self.next_address
    }

    /// Adds a block of device bytes.
    pub(crate) fn block(&mut self, bytes: usize) -> usize {
        self.blocks.push(Block { bytes: vec![POISON_NEW; bytes], shadow: Shadow::default() });
        self.blocks.len() - 1
    }

    /// Adds a region that maps to a new block.
    pub(crate) fn allocate(
        &mut self,
        start: u64,
        len: usize,
        device: usize,
        origin: Origin,
    ) -> Region {
        let block = self.block(if origin.is_of_the_host() { 0 } else { len });
        let region = Region { start, len, block, device, origin };
        self.insert(region);
        region
    }

    pub(crate) fn insert(&mut self, region: Region) {
        let regions = self.regions_mut();
        regions.freed.remove(&region.start);
        regions.live.insert(region.start, region);
    }

    fn regions_mut(&mut self) -> &mut Regions {
        Arc::make_mut(&mut self.regions)
    }

    /// Returns the current regions, unaffected by later changes.
    pub(crate) fn snapshot(&self) -> Arc<Regions> {
        Arc::clone(&self.regions)
    }

    /// Returns the region that starts at this address.
    pub(crate) fn starting_at(&self, start: u64) -> Option<Region> {
        self.regions.live.get(&start).copied()
    }

    pub(crate) fn starting_at_mut(&mut self, start: u64) -> Option<&mut Region> {
        self.regions_mut().live.get_mut(&start)
    }

    /// Ends a region. Its block stays for work in flight.
    pub(crate) fn remove(&mut self, start: u64) -> Option<Region> {
        let regions = self.regions_mut();
        let region = regions.live.remove(&start)?;
        regions.freed.insert(start, region);
        Some(region)
    }

    /// Returns `true` if a region has bytes in this range.
    pub(crate) fn is_taken(&self, start: u64, len: usize) -> bool {
        let end = start.saturating_add(len as u64);
        self.regions.live.range(..end).next_back().is_some_and(|(_, region)| region.end() > start)
    }

    /// Remembers a range as freed that never was a region, such as memory inside a graph.
    pub(crate) fn remember_freed(&mut self, region: Region) {
        self.regions_mut().freed.insert(region.start, region);
    }

    /// Drops the bytes of a block.
    pub(crate) fn drop_block(&mut self, block: usize) {
        self.blocks[block] = Block::default();
    }

    pub(crate) fn live(&self) -> impl Iterator<Item = &Region> {
        self.regions.live.values()
    }

    fn region_at(&self, address: u64) -> Option<&Region> {
        self.regions.at(address)
    }

    /// Returns the bytes in page-locked host memory, if they are there.
    pub(crate) fn pinned(&self, address: u64, len: usize) -> Option<Piece> {
        let region = self.region_at(address).filter(|region| region.origin.is_of_the_host())?;
        let start = offset(region.start, address);
        (len <= region.len - start).then_some(Piece { block: region.block, start, len })
    }

    /// Describes a mistake with host memory: it was page-locked and is freed, or it ends before.
    pub(crate) fn host_trouble(&self, address: u64, len: usize) -> Option<Trouble> {
        let what = format!("{len} bytes at {address:#x} of the host");
        if let Some(region) = self.region_at(address) {
            // Bytes after registered memory are the program's, too.
            let fits = region.origin == Origin::Registered || len <= offset(address, region.end());
            let text = format!("{what}: {region} ends before");
            return (!fits).then_some(Trouble { mistake: Mistake::OutOfBounds, text });
        }
        let (_, region) = self.regions.freed.range(..=address).next_back()?;
        let freed = region.origin == Origin::Pinned && region.contains(address) && len > 0;
        let text = format!("{what}: {region} was freed");
        freed.then_some(Trouble { mistake: Mistake::UseAfterFree, text })
    }

    /// Returns the region that contains an address, for a caller's query.
    pub(crate) fn around(&self, address: u64) -> Option<Region> {
        self.region_at(address).copied()
    }

    /// Returns the pieces of blocks at a range of addresses.
    pub(crate) fn resolve(&self, address: u64, len: usize) -> Result<Vec<Piece>, Trouble> {
        let mut pieces = Vec::new();
        let mut range = Range { start: address, end: address.saturating_add(len as u64) };
        let mut inside_pages = false;
        while range.start < range.end {
            let found = self.region_at(range.start).filter(|region| region.is_on_device());
            // A range may extend from pages to pages, but not from one allocation to the next.
            let region =
                found.filter(|region| pieces.is_empty() || (inside_pages && region.is_pages()));
            let Some(region) = region else { return Err(self.regions.trouble(address, len)) };
            if let Origin::Mapped { allowed: false, .. } = region.origin {
                let text = format!("{len} bytes at {address:#x}: no access was allowed");
                return Err(Trouble { mistake: Mistake::WildAddress, text });
            }
            inside_pages = region.is_pages();
            let start = offset(region.start, range.start);
            let len = (region.len - start).min(offset(range.start, range.end));
            pieces.push(Piece { block: region.block, start, len });
            range.start += len as u64;
        }
        Ok(pieces)
    }

    /// Describes the mistake in freeing this address.
    pub(crate) fn trouble_with_free(&self, address: u64) -> Trouble {
        if let Some(region) = self.regions.freed.get(&address) {
            let text = format!("{address:#x}: {region} was freed before");
            return Trouble { mistake: Mistake::DoubleFree, text };
        }
        let text = format!("free of {address:#x}, which is no allocation");
        Trouble { mistake: Mistake::WildAddress, text }
    }

    /// Reads pieces in their order.
    pub(crate) fn gather(&self, pieces: &[Piece]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(pieces.iter().map(|piece| piece.len).sum());
        for piece in pieces {
            match self.blocks[piece.block].bytes.get(piece.start..piece.start + piece.len) {
                Some(found) => bytes.extend_from_slice(found),
                // The block was dropped: pending reads were reported at their submission.
                None => bytes.resize(bytes.len() + piece.len, POISON_FREED),
            }
        }
        bytes
    }

    /// Writes pieces in their order.
    pub(crate) fn scatter(&mut self, pieces: &[Piece], mut bytes: &[u8]) {
        for piece in pieces {
            let (now, later) = bytes.split_at(piece.len.min(bytes.len()));
            let place = piece.start..piece.start + now.len();
            if let Some(place) = self.blocks[piece.block].bytes.get_mut(place) {
                place.copy_from_slice(now);
            }
            bytes = later;
        }
    }
}

/// Returns the distance of two addresses in one range, whose length is a `usize`.
fn offset(start: u64, address: u64) -> usize {
    usize::try_from(address - start).unwrap_or(usize::MAX)
}

impl Region {
    pub(crate) fn end(&self) -> u64 {
        self.start + self.len as u64
    }

    fn contains(&self, address: u64) -> bool {
        self.start <= address && address < self.end()
    }

    fn left(&self, address: u64) -> u64 {
        self.end() - address
    }

    fn is_pages(&self) -> bool {
        matches!(self.origin, Origin::Mapped { .. })
    }

    fn is_on_device(&self) -> bool {
        !self.origin.is_of_the_host()
    }
}

impl std::fmt::Display for Region {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.origin {
            Origin::Plain => "the allocation",
            Origin::Pool(_) => "the stream-ordered allocation",
            Origin::Graph => "the graph's allocation",
            Origin::Mapped { .. } => "the mapping",
            Origin::Pinned => "the host allocation",
            Origin::Registered => "the registered host memory",
            Origin::Module => "the module's variable",
        };
        write!(formatter, "{kind} of {} bytes at {:#x}", self.len, self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::{Memory, Mistake, Origin};

    fn with_one() -> (Memory, u64) {
        let mut memory = Memory::default();
        let address = memory.fresh_address(100);
        memory.allocate(address, 100, 0, Origin::Plain);
        (memory, address)
    }

    #[test]
    fn bytes_come_back_through_addresses() {
        let (mut memory, address) = with_one();
        let pieces = memory.resolve(address + 10, 4).unwrap();
        memory.scatter(&pieces, &[1, 2, 3, 4]);
        let around = memory.resolve(address + 9, 6).unwrap();
        assert_eq!(memory.gather(&around), [0xA5, 1, 2, 3, 4, 0xA5]);
    }

    #[test]
    fn an_address_tells_what_is_wrong_with_it() {
        let (mut memory, address) = with_one();
        let mistake = |memory: &Memory, at, len| memory.resolve(at, len).unwrap_err().mistake;
        assert_eq!(mistake(&memory, address + 90, 11), Mistake::OutOfBounds);
        assert_eq!(mistake(&memory, address + 100, 1), Mistake::OutOfBounds);
        assert_eq!(mistake(&memory, 64, 1), Mistake::WildAddress);
        memory.remove(address);
        assert_eq!(mistake(&memory, address + 5, 1), Mistake::UseAfterFree);
        assert_eq!(memory.trouble_with_free(address).mistake, Mistake::DoubleFree);
        assert_eq!(memory.trouble_with_free(address + 1).mistake, Mistake::WildAddress);
        assert!(memory.resolve(64, 0).unwrap().is_empty());
    }
}
