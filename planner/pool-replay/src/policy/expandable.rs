//! PyTorch's caching allocator with `expandable_segments:True`.
//!
//! Each stream has one segment for small buffers, up to 1 MiB, and one for large ones. A segment is
//! a range of addresses with some pages mapped: 2 MiB each, or 20 MiB for a large one.
//!
//! A buffer gets the smallest free block that is large enough, the lowest of several; the block at
//! the end of the mapped pages only if no other is. Otherwise the missing pages are mapped after
//! it. Each block is split if 512 bytes are left. If pages do not fit the capacity, completely free
//! ones are unmapped first. Pages that were unmapped in between are not mapped again, which PyTorch
//! would do.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::simulator::{Full, Simulator, round_up};

const MIN_BLOCK: u64 = 512;
const SMALL_SIZE: u64 = 1 << 20;
const SMALL_PAGE: u64 = 2 << 20;
const LARGE_PAGE: u64 = 20 << 20;
/// The addresses of a segment; there are up to 2^15 segments.
const SEGMENT: u64 = 1 << 48;

/// The stream, and whether buffers are small.
type Class = (u64, bool);

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
    /// The blocks by their offsets; pages that were unmapped are gaps between them.
    blocks: BTreeMap<u64, Block>,
    free: BTreeSet<(u64, u64)>,
}

#[derive(Debug)]
pub(super) struct Expandable {
    capacity: u64,
    held: u64,
    segments: BTreeMap<Class, Segment>,
    live: HashMap<u64, (Class, u64)>,
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

    /// The smallest free block that is large enough; the one at the end only if no other is.
    fn best(&self, bytes: u64) -> Option<(u64, u64)> {
        let mut fitting = self.free.range((bytes, 0)..);
        let is_end = |&&(size, offset): &&(u64, u64)| offset + size == self.end;
        let other = fitting.clone().find(|block| !is_end(block));
        other.or_else(|| fitting.next()).copied()
    }

    /// The free bytes at the end of the mapped pages.
    fn free_end(&self) -> u64 {
        let last = self.blocks.last_key_value().filter(|(_, block)| block.is_free);
        last.filter(|(offset, block)| *offset + block.bytes == self.end)
            .map_or(0, |(_, block)| block.bytes)
    }

    /// Unmaps the pages that are wholly free; returns their bytes.
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
        Self { capacity, held: 0, segments: BTreeMap::new(), live: HashMap::new() }
    }

    /// The bytes that a segment lacks at its end for a block, in whole pages.
    fn lacking(&self, class: Class, bytes: u64) -> Result<u64, Full> {
        let segment = self.segments.get(&class).ok_or(Full)?;
        let pages = round_up(bytes.saturating_sub(segment.free_end()), segment.page)?;
        let is_within = segment.end.checked_add(pages).is_some_and(|end| end <= SEGMENT);
        if is_within { Ok(pages) } else { Err(Full) }
    }

    /// Maps pages until a block fits at the end.
    fn map(&mut self, class: Class, bytes: u64) -> Result<(u64, u64), Full> {
        let mut pages = self.lacking(class, bytes)?;
        if pages > self.capacity - self.held {
            self.held -= self.segments.values_mut().map(Segment::release).sum::<u64>();
            pages = self.lacking(class, bytes)?;
        }
        if pages > self.capacity - self.held {
            return Err(Full);
        }
        self.held += pages;
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
    fn allocate(&mut self, buffer: u64, stream: u64, bytes: u64) -> Result<u64, Full> {
        let bytes = round_up(bytes, MIN_BLOCK)?;
        let is_small = bytes <= SMALL_SIZE;
        let class = (stream, is_small);
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

    /// A block goes back to the stream that it was allocated on.
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
