//! Defines the list of a stack's chunks, in the order in which a pass uses them.

use alloc::vec::Vec;
use core::ops::Range;

/// A chunk of memory for arrays. A chunk is either all but the last line of a backend's block or a
/// part of another pool's chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunk {
    /// The address of the block, or null if the chunk is borrowed.
    pub(super) block: *mut u8,
    /// The first address in the block that is aligned for every element type that the pool has
    /// stored.
    pub(super) start: *mut u8,
    /// The chunk's end, which is one line before the block's end (invariant 4). The chunk ends
    /// earlier if the rest of the block has been lent to, or belongs to, another pool.
    pub(super) end: *mut u8,
    /// The size of the block in bytes, or 0 if the chunk is borrowed.
    pub(super) block_bytes: usize,
    /// The number of bytes that were live in earlier chunks when this chunk received its first
    /// array.
    pub(super) live_before: usize,
}

impl Chunk {
    /// Returns `true` if the cursor address `at` is within the chunk.
    pub(super) fn contains(&self, at: *const u8) -> bool {
        (self.start.addr()..=self.end.addr()).contains(&at.addr())
    }

    /// Returns the number of bytes that are live while the cursor is at the address `at` in the
    /// chunk.
    pub(super) fn live_at(&self, at: *const u8) -> usize {
        self.live_before + (at.addr() - self.start.addr())
    }

    /// Returns `true` if the chunk is part of another pool's chunk.
    pub(super) fn is_borrowed(&self) -> bool {
        self.block.is_null()
    }

    /// Returns the address range of the block.
    pub(super) fn block_addresses(&self) -> Range<usize> {
        self.block.addr()..self.block.addr() + self.block_bytes
    }

    /// Returns the number of bytes that are available for arrays.
    pub(super) fn capacity(&self) -> usize {
        self.end.addr() - self.start.addr()
    }
}

/// The list of a pool's chunks.
#[derive(Debug)]
pub(super) struct Chunks(Vec<Chunk>);

impl Chunks {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Returns the chunk with the given index.
    pub(super) fn get(&self, number: usize) -> Option<&Chunk> {
        self.0.get(number)
    }

    pub(super) fn get_mut(&mut self, number: usize) -> Option<&mut Chunk> {
        self.0.get_mut(number)
    }

    /// Returns the index of the chunk that contains the cursor address `at`. Returns `None` if no
    /// chunk contains the address.
    pub(super) fn position(&self, at: *const u8) -> Option<usize> {
        self.0.iter().position(|chunk| chunk.contains(at))
    }

    /// Returns the address of the block that contains `address`. `address` must be the address of
    /// an array.
    pub(super) fn block_around(&self, address: *const u8) -> Option<*mut u8> {
        self.position(address).and_then(|position| self.get(position)).map(|chunk| chunk.block)
    }

    /// Returns the lowest idle address in the chunk that contains `start`, given a cursor at `at`.
    /// Returns `None` if the memory at `start` is handed out, or if no chunk contains `start`.
    pub(super) fn idle_base(&mut self, at: *mut u8, start: *const u8) -> Option<*mut u8> {
        let theirs = self.position(start)?;
        let own = self.position(at);
        if own == Some(theirs) {
            return (at.addr() <= start.addr()).then_some(at);
        }
        if own.is_some_and(|own| own > theirs) {
            return None;
        }
        let live = own.and_then(|own| self.get(own)).map_or(0, |chunk| chunk.live_at(at));
        let chunk = self.get_mut(theirs)?;
        chunk.live_before = live;
        Some(chunk.start)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Allocates memory for a list of `count + 1` chunks. If the allocation fails, the function
    /// returns the number of requested bytes.
    ///
    /// The memory is allocated separately from the list. The list must not be borrowed during the
    /// allocation, because the allocator might run user code.
    pub(super) fn longer(count: usize) -> Result<Self, usize> {
        let mut chunks = Vec::new();
        let bytes = (count + 1) * size_of::<Chunk>();
        chunks.try_reserve_exact(count + 1).map_err(|_| bytes)?;
        Ok(Self(chunks))
    }

    /// Moves the chunks to a longer list and returns the memory of the old list.
    pub(super) fn move_to(&mut self, mut longer: Self) -> Self {
        longer.0.append(&mut self.0);
        core::mem::replace(self, longer)
    }

    /// Returns `true` if another chunk can be pushed without allocating memory.
    pub(super) fn has_room(&self) -> bool {
        self.0.len() < self.0.capacity()
    }

    /// Appends a chunk. The list must have sufficient capacity for the chunk.
    pub(super) fn push(&mut self, chunk: Chunk) {
        debug_assert!(self.has_room(), "the list is allocated before the chunk");
        self.0.push(chunk);
    }

    /// Appends a chunk to an empty list.
    ///
    /// # Safety
    ///
    /// The list must be empty and must have capacity for one chunk.
    #[inline(always)]
    pub(super) unsafe fn push_first(&mut self, chunk: Chunk) {
        debug_assert!(self.len() == 0 && self.has_room(), "the caller's promise");
        // SAFETY: the caller guarantees that the list has capacity for one chunk.
        unsafe { self.0.as_mut_ptr().write(chunk) };
        // SAFETY: the first chunk was just written. The caller guarantees capacity for at least one
        // chunk.
        unsafe { self.0.set_len(1) };
    }

    /// Sets the end of the first chunk.
    ///
    /// # Safety
    ///
    /// The list must not be empty.
    #[inline(always)]
    pub(super) unsafe fn set_first_end(&mut self, end: *mut u8) {
        debug_assert!(self.len() > 0, "the caller's promise");
        // SAFETY: the caller guarantees that the list has a first chunk.
        unsafe { &mut *self.0.as_mut_ptr() }.end = end;
    }

    /// Removes and returns the last chunk if the list contains more than `keep` chunks.
    pub(super) fn pop_above(&mut self, keep: usize) -> Option<Chunk> {
        if self.0.len() > keep { self.0.pop() } else { None }
    }

    /// Removes all chunks from the list without freeing them.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Removes the first chunk and returns it.
    pub(super) fn take_first(&mut self) -> Option<Chunk> {
        if self.0.is_empty() { None } else { Some(self.0.remove(0)) }
    }

    /// Returns the sizes in bytes of the three largest blocks, in descending order.
    pub(super) fn largest(&self) -> [usize; 3] {
        let mut largest = [0; 3];
        for chunk in &self.0 {
            let [first, second, third] = largest;
            let bytes = chunk.block_bytes;
            largest = if bytes > first {
                [bytes, first, second]
            } else if bytes > second {
                [first, bytes, second]
            } else {
                [first, second, bytes.max(third)]
            };
        }
        largest
    }

    /// Returns the number of bytes of host memory used by the list.
    pub(super) fn bookkeeping_bytes(&self) -> usize {
        self.0.capacity() * size_of::<Chunk>()
    }
}
