//! Naive implementations of the allocators' rules, with lists that are searched from end to end.
//! The simulators are tested against these implementations.

use super::simulator::{Full, PoolId, Simulator};

fn up(bytes: u64, to: u64) -> u64 {
    bytes.div_ceil(to) * to
}

/// An arena, which stores only live buffers.
#[derive(Debug)]
pub(super) struct Bump {
    pub(super) capacity: u64,
    pub(super) live: Vec<(u64, u64, u64)>,
    pub(super) held: u64,
}

impl Simulator for Bump {
    fn allocate(&mut self, _: PoolId, buffer: u64, _: u64, bytes: u64) -> Result<u64, Full> {
        let offset = self.live.iter().map(|&(_, _, end)| end).max().unwrap_or(0);
        let end = offset + up(bytes, 256);
        if end > self.capacity {
            return Err(Full);
        }
        self.live.push((buffer, offset, end));
        self.held = self.held.max(end);
        Ok(offset)
    }

    fn free(&mut self, buffer: u64, _: u64) {
        self.live.retain(|&(one, ..)| one != buffer);
    }

    fn taken(&self, buffer: u64) -> u64 {
        let live = self.live.iter().find(|live| live.0 == buffer);
        live.map_or(0, |&(_, low, high)| high - low)
    }

    fn held(&self) -> u64 {
        self.held
    }
}

/// Tables of slots. Each entry consists of the stream, the slot number, the size in bytes, and the
/// buffer in the slot.
#[derive(Debug)]
pub(super) struct Slots {
    pub(super) capacity: u64,
    pub(super) slots: Vec<(u64, u64, u64, Option<u64>)>,
}

impl Slots {
    fn cursor(&self, stream: u64) -> u64 {
        let used = self.slots.iter().filter(|slot| slot.0 == stream && slot.3.is_some());
        used.map(|slot| slot.1 + 1).max().unwrap_or(0)
    }
}

impl Simulator for Slots {
    fn allocate(&mut self, _: PoolId, buffer: u64, stream: u64, bytes: u64) -> Result<u64, Full> {
        let (number, needed) = (self.cursor(stream), up(bytes, 256));
        if !self.slots.iter().any(|slot| (slot.0, slot.1) == (stream, number)) {
            self.slots.push((stream, number, 0, None));
        }
        let at = self.slots.iter().position(|slot| (slot.0, slot.1) == (stream, number)).unwrap();
        let old = self.slots[at].2;
        if old < needed {
            let small = old.min(65536);
            let generous = up(old + (small + (old - small) / 4) / 2, 256).max(needed);
            let others = self.held() - old;
            self.slots[at].2 = if others + generous <= self.capacity { generous } else { needed };
            if self.held() > self.capacity {
                self.slots[at].2 = old;
                let cursors: Vec<u64> = self.slots.iter().map(|slot| self.cursor(slot.0)).collect();
                self.slots.iter_mut().zip(cursors).for_each(|(slot, cursor)| {
                    slot.2 = if slot.1 >= cursor { 0 } else { slot.2 };
                });
                if self.held() + needed > self.capacity {
                    return Err(Full);
                }
                self.slots[at].2 = needed;
            }
        }
        self.slots[at].3 = Some(buffer);
        Ok(number)
    }

    fn free(&mut self, buffer: u64, _: u64) {
        self.slots.iter_mut().filter(|slot| slot.3 == Some(buffer)).for_each(|slot| slot.3 = None);
    }

    fn taken(&self, buffer: u64) -> u64 {
        self.slots.iter().find(|slot| slot.3 == Some(buffer)).map_or(0, |slot| slot.2)
    }

    fn held(&self) -> u64 {
        self.slots.iter().map(|slot| slot.2).sum()
    }
}

/// RMM's pool, which stores every byte range with its list or its buffer.
#[derive(Debug)]
pub(super) struct RmmPool {
    pub(super) capacity: u64,
    pub(super) is_unlimited: bool,
    pub(super) streams: Vec<u64>,
    /// Each entry consists of the address, the size in bytes, `true` if the block begins a piece,
    /// the list, and the buffer.
    pub(super) blocks: Vec<(u64, u64, bool, u64, Option<u64>)>,
}

impl RmmPool {
    /// Merges free neighbours in the same list until there are none left.
    fn coalesce(&mut self) {
        self.blocks.sort_unstable();
        while let Some(at) = self.blocks.windows(2).position(|two| {
            let (low, high) = (two[0], two[1]);
            low.0 + low.1 == high.0
                && !high.2
                && low.3 == high.3
                && low.4.is_none()
                && high.4.is_none()
        }) {
            self.blocks[at].1 += self.blocks.remove(at + 1).1;
        }
    }

    fn best(&self, list: u64, bytes: u64) -> Option<usize> {
        let is_free = |at: &usize| {
            let block = self.blocks[*at];
            block.4.is_none() && block.3 == list && block.1 >= bytes
        };
        let size = |&at: &usize| (self.blocks[at].1, self.blocks[at].0);
        (0..self.blocks.len()).filter(is_free).min_by_key(size)
    }

    fn find(&mut self, own: u64, bytes: u64) -> Option<usize> {
        if let Some(at) = self.best(own, bytes) {
            return Some(at);
        }
        let others: Vec<u64> = self.streams.iter().copied().filter(|&one| one != own).collect();
        if let Some(at) = others.iter().find_map(|&other| self.best(other, bytes)) {
            return Some(at);
        }
        for other in others {
            let free = |block: &&mut (u64, u64, bool, u64, Option<u64>)| block.4.is_none();
            let blocks = self.blocks.iter_mut().filter(free).filter(|block| block.3 == other);
            blocks.for_each(|block| block.3 = own);
            self.coalesce();
            if let Some(at) = self.best(own, bytes) {
                return Some(at);
            }
        }
        None
    }
}

impl Simulator for RmmPool {
    fn allocate(&mut self, _: PoolId, buffer: u64, stream: u64, bytes: u64) -> Result<u64, Full> {
        let bytes = up(bytes, 256);
        if !self.streams.contains(&stream) {
            self.streams.push(stream);
        }
        let found = self.find(stream, bytes);
        let at = match found {
            Some(at) => at,
            None => {
                let held = self.held();
                let left = self.capacity / 256 * 256 - held;
                if bytes > left {
                    return Err(Full);
                }
                let grown = if self.is_unlimited { held } else { left / 2 };
                self.blocks.push((held, grown.max(bytes), true, stream, None));
                self.blocks.len() - 1
            }
        };
        let (address, all, is_head, list, _) = self.blocks[at];
        self.blocks[at] = (address, bytes, is_head, list, Some(buffer));
        if all > bytes {
            self.blocks.push((address + bytes, all - bytes, false, list, None));
            self.coalesce();
        }
        Ok(address)
    }

    fn free(&mut self, buffer: u64, stream: u64) {
        if !self.streams.contains(&stream) {
            self.streams.push(stream);
        }
        for block in self.blocks.iter_mut().filter(|block| block.4 == Some(buffer)) {
            (block.3, block.4) = (stream, None);
        }
        self.coalesce();
    }

    fn taken(&self, buffer: u64) -> u64 {
        self.blocks.iter().find(|block| block.4 == Some(buffer)).map_or(0, |block| block.1)
    }

    fn held(&self) -> u64 {
        self.blocks.iter().map(|block| block.1).sum()
    }
}

/// RMM's arenas, which store every superblock with its owner and its live buffers. The free ranges
/// lie between the buffers.
#[derive(Debug)]
pub(super) struct RmmArena {
    pub(super) size: Option<u64>,
    pub(super) used: u64,
    /// Each entry consists of the start, the size in bytes, the stream that owns the superblock,
    /// and the start, size and number of each buffer.
    pub(super) superblocks: Vec<ArenaSuperblock>,
}

type ArenaSuperblock = (u64, u64, Option<u64>, Vec<(u64, u64, u64)>);

impl RmmArena {
    pub(super) fn new(size: Option<u64>) -> Self {
        let bytes = size.unwrap_or(1 << 62);
        let whole = (bytes >= 1 << 20).then(|| (0, bytes, None, Vec::new()));
        Self { size, used: 0, superblocks: whole.into_iter().collect() }
    }

    /// Returns the start of the first free range in a superblock that is large enough.
    fn room(one: &ArenaSuperblock, bytes: u64) -> Option<u64> {
        let mut at = one.0;
        for &(start, length, _) in &one.3 {
            if start - at >= bytes {
                return Some(at);
            }
            at = start + length;
        }
        (one.0 + one.1 - at >= bytes).then_some(at)
    }

    fn first(&self, owner: Option<u64>, bytes: u64) -> Option<usize> {
        let has_room = |one: &ArenaSuperblock| one.2 == owner && Self::room(one, bytes).is_some();
        self.superblocks.iter().position(has_room)
    }

    fn place(&mut self, buffer: u64, stream: u64, bytes: u64) -> Option<u64> {
        let is_small = bytes <= 1 << 20;
        let own = if is_small { self.first(Some(stream), bytes) } else { None };
        let at = match own {
            Some(at) => at,
            None => {
                let at = self.first(None, bytes)?;
                let least = bytes.max(1 << 20);
                let (start, all, _, live) = &mut self.superblocks[at];
                if live.is_empty() && *all >= least + (1 << 20) {
                    let rest = (*start + least, *all - least, None, Vec::new());
                    *all = least;
                    self.superblocks.insert(at + 1, rest);
                }
                at
            }
        };
        let one = &mut self.superblocks[at];
        self.used = self.used.max(one.0 + one.1);
        if is_small {
            one.2 = Some(stream);
        }
        let address = Self::room(one, bytes)?;
        one.3.push((address, bytes, buffer));
        one.3.sort_unstable();
        Some(address)
    }

    /// Merges empty neighbours that no stream owns, including those that were just emptied.
    fn merge(&mut self) {
        let is_idle = |one: &ArenaSuperblock| one.2.is_none() && one.3.is_empty();
        while let Some(at) = self.superblocks.windows(2).position(|two| two.iter().all(is_idle)) {
            self.superblocks[at].1 += self.superblocks.remove(at + 1).1;
        }
    }
}

impl Simulator for RmmArena {
    fn allocate(&mut self, _: PoolId, buffer: u64, stream: u64, bytes: u64) -> Result<u64, Full> {
        let bytes = up(bytes, 256);
        if let Some(address) = self.place(buffer, stream, bytes) {
            return Ok(address);
        }
        let idle = self.superblocks.iter_mut().filter(|one| one.3.is_empty());
        idle.for_each(|one| one.2 = None);
        self.merge();
        self.place(buffer, stream, bytes).ok_or(Full)
    }

    fn free(&mut self, buffer: u64, _: u64) {
        self.superblocks.iter_mut().for_each(|one| one.3.retain(|live| live.2 != buffer));
        self.merge();
    }

    fn taken(&self, buffer: u64) -> u64 {
        let mut live = self.superblocks.iter().flat_map(|one| &one.3);
        live.find(|live| live.2 == buffer).map_or(0, |live| live.1)
    }

    fn held(&self) -> u64 {
        self.size.unwrap_or(self.used)
    }
}

/// PyTorch's allocator, which stores all segments in the order in which they were taken, each with
/// all its blocks.
#[derive(Debug)]
pub(super) struct Caching {
    pub(super) capacity: u64,
    pub(super) next: u64,
    pub(super) segments: Vec<Segment>,
    /// The pools that are released.
    pub(super) released: Vec<PoolId>,
}

#[derive(Debug)]
pub(super) struct Segment {
    address: u64,
    pool: PoolId,
    stream: u64,
    is_small: bool,
    blocks: Vec<(u64, Option<u64>)>,
}

impl Caching {
    fn best(
        &self,
        (pool, stream, is_small): (PoolId, u64, bool),
        bytes: u64,
    ) -> Option<(usize, usize)> {
        let mut best: Option<(u64, usize, usize)> = None;
        for (at, segment) in self.segments.iter().enumerate() {
            for (index, &(size, buffer)) in segment.blocks.iter().enumerate() {
                let fits = buffer.is_none() && size >= bytes;
                let is_of_class =
                    (segment.pool, segment.stream, segment.is_small) == (pool, stream, is_small);
                if fits && is_of_class && best.is_none_or(|(best, ..)| size < best) {
                    best = Some((size, at, index));
                }
            }
        }
        best.map(|(_, at, index)| (at, index))
    }

    /// Returns the free segments of a released pool at once.
    fn drop_released(&mut self) {
        let released = &self.released;
        self.segments.retain(|one| {
            one.blocks.len() > 1 || one.blocks[0].1.is_some() || !released.contains(&one.pool)
        });
    }
}

impl Simulator for Caching {
    fn allocate(
        &mut self,
        pool: PoolId,
        buffer: u64,
        stream: u64,
        bytes: u64,
    ) -> Result<u64, Full> {
        let mib = 1 << 20;
        let bytes = up(bytes, 512);
        let is_small = bytes <= mib;
        let class = (pool, stream, is_small);
        self.released.retain(|&one| one != pool);
        if self.best(class, bytes).is_none() {
            let size = match bytes {
                _ if is_small => 2 * mib,
                _ if bytes < 10 * mib => 20 * mib,
                _ => up(bytes, 2 * mib),
            };
            if self.held() + size > self.capacity {
                self.segments.retain(|one| {
                    one.blocks.len() > 1 || one.blocks[0].1.is_some() || one.pool != (0, 0)
                });
            }
            if self.held() + size > self.capacity {
                return Err(Full);
            }
            let (address, blocks) = (self.next, vec![(size, None)]);
            self.segments.push(Segment { address, pool, stream, is_small, blocks });
            self.next += size + 1;
        }
        let (at, index) = self.best(class, bytes).unwrap();
        let Segment { address, blocks, .. } = &mut self.segments[at];
        let left = blocks[index].0 - bytes;
        blocks[index].1 = Some(buffer);
        if if is_small { left >= 512 } else { left > mib } {
            blocks[index].0 = bytes;
            blocks.insert(index + 1, (left, None));
        }
        Ok(*address + blocks[..index].iter().map(|block| block.0).sum::<u64>())
    }

    fn free(&mut self, buffer: u64, _: u64) {
        for blocks in self.segments.iter_mut().map(|segment| &mut segment.blocks) {
            blocks.iter_mut().filter(|one| one.1 == Some(buffer)).for_each(|one| one.1 = None);
            let is_pair = |two: &[(u64, Option<u64>)]| two.iter().all(|one| one.1.is_none());
            while let Some(at) = blocks.windows(2).position(is_pair) {
                blocks[at].0 += blocks.remove(at + 1).0;
            }
        }
        self.drop_released();
    }

    fn release_pool(&mut self, pool: PoolId) {
        self.released.push(pool);
        self.drop_released();
    }

    fn held_by(&self, pool: PoolId) -> Option<u64> {
        let own = self.segments.iter().filter(|one| one.pool == pool);
        Some(own.flat_map(|segment| &segment.blocks).map(|block| block.0).sum())
    }

    fn taken(&self, buffer: u64) -> u64 {
        let mut blocks = self.segments.iter().flat_map(|segment| &segment.blocks);
        blocks.find(|block| block.1 == Some(buffer)).map_or(0, |block| block.0)
    }

    fn held(&self) -> u64 {
        self.segments.iter().flat_map(|segment| &segment.blocks).map(|block| block.0).sum()
    }
}

/// PyTorch's allocator with expandable segments. It stores the blocks by their offsets, and the
/// pages, for each stream and size class.
#[derive(Debug)]
pub(super) struct Expandable {
    pub(super) capacity: u64,
    pub(super) segments: Vec<Expanding>,
    /// The pools that are released.
    pub(super) released: Vec<PoolId>,
}

#[derive(Debug)]
pub(super) struct Expanding {
    class: (PoolId, u64, bool),
    /// For each page, `true` if it is mapped.
    pages: Vec<bool>,
    /// Each entry consists of the offset, the size in bytes, and the buffer in the block.
    blocks: Vec<(u64, u64, Option<u64>)>,
}

impl Expanding {
    fn page(&self) -> u64 {
        if self.class.2 { 2 << 20 } else { 20 << 20 }
    }

    fn mapped(&self) -> u64 {
        self.pages.iter().filter(|&&page| page).count() as u64 * self.page()
    }

    fn end(&self) -> u64 {
        self.pages.len() as u64 * self.page()
    }

    fn merge(&mut self) {
        self.blocks.sort_unstable();
        let touch = |two: &[(u64, u64, Option<u64>)]| {
            two.iter().all(|one| one.2.is_none()) && two[0].0 + two[0].1 == two[1].0
        };
        while let Some(at) = self.blocks.windows(2).position(touch) {
            self.blocks[at].1 += self.blocks.remove(at + 1).1;
        }
    }

    /// Returns the number of free bytes at the end.
    fn free_end(&self) -> u64 {
        let ends = |one: &&(u64, u64, Option<u64>)| one.2.is_none() && one.0 + one.1 == self.end();
        self.blocks.iter().find(ends).map_or(0, |one| one.1)
    }

    /// Unmaps each page that contains no byte of a live buffer.
    fn release(&mut self) {
        let page = self.page();
        for at in 0..self.pages.len() {
            let (low, high) = (at as u64 * page, (at as u64 + 1) * page);
            let is_used = |one: &(u64, u64, Option<u64>)| {
                one.2.is_some() && one.0 < high && one.0 + one.1 > low
            };
            if !self.pages[at] || self.blocks.iter().any(is_used) {
                continue;
            }
            self.pages[at] = false;
            let free: Vec<_> = self.blocks.iter().copied().filter(|one| one.2.is_none()).collect();
            self.blocks.retain(|one| one.2.is_some());
            for (start, bytes, _) in free {
                let end = start + bytes;
                for (from, to) in [(start, end.min(low)), (start.max(high), end)] {
                    if from < to {
                        self.blocks.push((from, to - from, None));
                    }
                }
            }
            self.blocks.sort_unstable();
        }
        while self.pages.last() == Some(&false) {
            self.pages.pop();
        }
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
        let bytes = up(bytes, 512);
        let class = (pool, stream, bytes <= 1 << 20);
        self.released.retain(|&one| one != pool);
        if !self.segments.iter().any(|one| one.class == class) {
            self.segments.push(Expanding { class, pages: Vec::new(), blocks: Vec::new() });
        }
        let at = self.segments.iter().position(|one| one.class == class).unwrap();
        let fitting = |segment: &Expanding| {
            let end = segment.end();
            let fits = segment.blocks.iter().filter(|one| one.2.is_none() && one.1 >= bytes);
            fits.copied().min_by_key(|one| (one.0 + one.1 == end, one.1, one.0))
        };
        if fitting(&self.segments[at]).is_none() {
            let lacks =
                |segment: &Expanding| up(bytes.saturating_sub(segment.free_end()), segment.page());
            if self.held() + lacks(&self.segments[at]) > self.capacity {
                let default = self.segments.iter_mut().filter(|one| one.class.0 == (0, 0));
                default.for_each(Expanding::release);
            }
            let pages = lacks(&self.segments[at]);
            if self.held() + pages > self.capacity {
                return Err(Full);
            }
            let segment = &mut self.segments[at];
            segment.blocks.push((segment.end(), pages, None));
            for _ in 0..pages / segment.page() {
                segment.pages.push(true);
            }
            segment.merge();
        }
        let segment = &mut self.segments[at];
        let (start, size, _) = fitting(segment).unwrap();
        segment.blocks.retain(|one| one.0 != start);
        segment.blocks.push((start, bytes, Some(buffer)));
        if size > bytes {
            segment.blocks.push((start + bytes, size - bytes, None));
        }
        segment.blocks.sort_unstable();
        Ok(at as u64 * (1 << 48) + start)
    }

    fn free(&mut self, buffer: u64, _: u64) {
        for segment in &mut self.segments {
            for block in segment.blocks.iter_mut().filter(|block| block.2 == Some(buffer)) {
                block.2 = None;
            }
            segment.merge();
            if self.released.contains(&segment.class.0) {
                segment.release();
            }
        }
    }

    fn release_pool(&mut self, pool: PoolId) {
        self.released.push(pool);
        self.segments.iter_mut().filter(|one| one.class.0 == pool).for_each(Expanding::release);
    }

    fn held_by(&self, pool: PoolId) -> Option<u64> {
        Some(self.segments.iter().filter(|one| one.class.0 == pool).map(Expanding::mapped).sum())
    }

    fn taken(&self, buffer: u64) -> u64 {
        let mut blocks = self.segments.iter().flat_map(|segment| &segment.blocks);
        blocks.find(|block| block.2 == Some(buffer)).map_or(0, |block| block.1)
    }

    fn held(&self) -> u64 {
        self.segments.iter().map(Expanding::mapped).sum()
    }
}
