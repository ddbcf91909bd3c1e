//! PyTorch's caching allocator with `expandable_segments:True`.
//!
//! In each pool, each stream has one segment for small buffers of up to 1 MiB, and one for large ones. A segment
//! is a range of addresses in which some pages are mapped. A page is 2 MiB, or 20 MiB in a segment
//! for large buffers.
//!
//! A buffer is placed in the smallest free block that is large enough, or the lowest of several
//! such blocks. The block at the end of the mapped pages is used only if no other block is large
//! enough. If no block is large enough, the missing pages are mapped at the end. Each block is
//! split if 512 bytes remain. If new pages do not fit within the capacity, pages that are
//! completely free are unmapped first. Unlike PyTorch, this simulator does not map these pages
//! again.
//!
//! A private pool has its own segments. Its pages are unmapped only after the pool is released, as
//! soon as they are completely free.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::simulator::{DEFAULT_POOL, Full, PoolId, Simulator, round_up};

const MIN_BLOCK: u64 = 512;
const SMALL_SIZE: u64 = 1 << 20;
const SMALL_PAGE: u64 = 2 << 20;
const LARGE_PAGE: u64 = 20 << 20;
/// The size of a segment in addresses. There are up to 2^15 segments.
const SEGMENT: u64 = 1 << 48;

/// The pool, the stream, and `true` for small buffers.
type Class = (PoolId, u64, bool);

#[derive(Clone, Copy, Debug)]
struct Block {
    bytes: u64,
    is_free: bool,
}

#[derive(Debug)]
struct Segment {
    start: u64,
    page: u64,
    /// The end of the mapped pages.
    end: u64,
    /// The blocks by their offsets. If there is a gap between two blocks, the pages in the gap were
    /// unmapped.
    blocks: BTreeMap<u64, Block>,
    free: BTreeSet<(u64, u64)>,
}

#[derive(Debug)]
pub(super) struct Expandable {
    capacity: u64,
    held: u64,
    segments: BTreeMap<Class, Segment>,
    live: HashMap<u64, (Class, u64)>,
    held_by: HashMap<PoolId, u64>,
    /// The private pools that have been released.
    released: HashSet<PoolId>,
}

impl Segment {
    fn insert_free(&mut self, offset: u64, bytes: u64) {
        if bytes > 0 {
            self.blocks.insert(offset, Block { bytes, is_free: true });
            self.free.insert((bytes, offset));
        }
    }

    fn remove_free(&mut self, offset: u64, bytes: u64) {
        self.blocks.remove(&offset);
        self.free.remove(&(bytes, offset));
    }

    /// Returns the smallest free block that is large enough. The block at the end is returned only
    /// if no other block is large enough.
    fn best(&self, bytes: u64) -> Option<(u64, u64)> {
        let mut fitting = self.free.range((bytes, 0)..);
        let is_end = |&&(size, offset): &&(u64, u64)| offset + size == self.end;
        let other = fitting.clone().find(|block| !is_end(block));
        other.or_else(|| fitting.next()).copied()
    }

    /// Returns the number of free bytes at the end of the mapped pages.
    fn free_end(&self) -> u64 {
        let last = self.blocks.last_key_value().filter(|(_, block)| block.is_free);
        last.filter(|(offset, block)| *offset + block.bytes == self.end)
            .map_or(0, |(_, block)| block.bytes)
    }

    /// Unmaps the pages that are completely free, and returns their total size in bytes.
    fn release(&mut self) -> u64 {
        let mut released = 0;
        for (bytes, offset) in self.free.clone() {
            let end = offset + bytes;
            let first = offset.next_multiple_of(self.page);
            let last = end - end % self.page;
            if first >= last {
                continue;
            }
            self.remove_free(offset, bytes);
            self.insert_free(offset, first - offset);
            self.insert_free(last, end - last);
            released += last - first;
        }
        let last = self.blocks.last_key_value();
        self.end = last.map_or(0, |(offset, block)| offset + block.bytes);
        released
    }
}

impl Expandable {
    pub(super) fn new(capacity: u64) -> Self {
        Self {
            capacity,
            held: 0,
            segments: BTreeMap::new(),
            live: HashMap::new(),
            held_by: HashMap::new(),
            released: HashSet::new(),
        }
    }

    /// Unmaps the pages of a pool that are completely free.
    fn release_free(&mut self, pool: PoolId) {
        let classes = (pool, 0, false)..=(pool, u64::MAX, true);
        let released: u64 =
            self.segments.range_mut(classes).map(|(_, segment)| segment.release()).sum();
        self.held -= released;
        *self.held_by.entry(pool).or_default() -= released;
    }

    /// Returns the number of bytes, in whole pages, that must be mapped at the end of a segment to
    /// make room for a block.
    fn lacking(&self, class: Class, bytes: u64) -> Result<u64, Full> {
        let segment = self.segments.get(&class).ok_or(Full)?;
        let pages = round_up(bytes.saturating_sub(segment.free_end()), segment.page)?;
        let is_within = segment.end.checked_add(pages).is_some_and(|end| end <= SEGMENT);
        if is_within { Ok(pages) } else { Err(Full) }
    }

    /// Maps pages until a block fits at the end of a segment.
    fn map(&mut self, class: Class, bytes: u64) -> Result<(u64, u64), Full> {
        let mut pages = self.lacking(class, bytes)?;
        if pages > self.capacity - self.held {
            self.release_free(DEFAULT_POOL);
            pages = self.lacking(class, bytes)?;
        }
        if pages > self.capacity - self.held {
            return Err(Full);
        }
        self.held += pages;
        *self.held_by.entry(class.0).or_default() += pages;
        let segment = self.segments.get_mut(&class).ok_or(Full)?;
        let free = segment.free_end();
        let offset = segment.end - free;
        segment.end += pages;
        if free > 0 {
            segment.remove_free(offset, free);
        }
        segment.insert_free(offset, free + pages);
        Ok((free + pages, offset))
    }
}

impl Simulator for Expandable {
    fn allocate(
        &mut self,
        pool: PoolId,
        buffer: u64,
        stream: u64,
        bytes: u64,
    ) -> Result<u64, Full> {
        let bytes = round_up(bytes, MIN_BLOCK)?;
        let is_small = bytes <= SMALL_SIZE;
        let class = (pool, stream, is_small);
        // A pool that is used again is no longer released.
        self.released.remove(&pool);
        let next = self.segments.len() as u64;
        if next >= 1 << 15 && !self.segments.contains_key(&class) {
            return Err(Full);
        }
        let segment = self.segments.entry(class).or_insert_with(|| Segment {
            start: next * SEGMENT,
            page: if is_small { SMALL_PAGE } else { LARGE_PAGE },
            end: 0,
            blocks: BTreeMap::new(),
            free: BTreeSet::new(),
        });
        let (size, offset) = match segment.best(bytes) {
            Some(best) => best,
            None => self.map(class, bytes)?,
        };
        let segment = self.segments.get_mut(&class).ok_or(Full)?;
        segment.remove_free(offset, size);
        segment.blocks.insert(offset, Block { bytes, is_free: false });
        segment.insert_free(offset + bytes, size - bytes);
        self.live.insert(buffer, (class, offset));
        Ok(segment.start + offset)
    }

    /// A freed block returns to the stream on which it was allocated.
    fn free(&mut self, buffer: u64, _stream: u64) {
        let Some((class, mut offset)) = self.live.remove(&buffer) else { return };
        let Some(segment) = self.segments.get_mut(&class) else { return };
        let Some(Block { mut bytes, .. }) = segment.blocks.remove(&offset) else { return };
        let next = segment.blocks.get(&(offset + bytes)).filter(|block| block.is_free).copied();
        if let Some(next) = next {
            segment.remove_free(offset + bytes, next.bytes);
            bytes += next.bytes;
        }
        let before = segment.blocks.range(..offset).next_back();
        let before = before.filter(|(at, block)| block.is_free && *at + block.bytes == offset);
        if let Some((at, before)) = before.map(|(&at, &block)| (at, block)) {
            segment.remove_free(at, before.bytes);
            (offset, bytes) = (at, bytes + before.bytes);
        }
        segment.insert_free(offset, bytes);
        if self.released.contains(&class.0) {
            self.release_free(class.0);
        }
    }

    fn release_pool(&mut self, pool: PoolId) {
        if pool != DEFAULT_POOL {
            self.released.insert(pool);
            self.release_free(pool);
        }
    }

    fn held_by(&self, pool: PoolId) -> Option<u64> {
        Some(self.held_by.get(&pool).copied().unwrap_or(0))
    }

    fn held(&self) -> u64 {
        self.held
    }

    fn taken(&self, buffer: u64) -> u64 {
        let live = self.live.get(&buffer);
        let block = live.and_then(|(class, at)| self.segments.get(class)?.blocks.get(at));
        block.map_or(0, |block| block.bytes)
    }
}
