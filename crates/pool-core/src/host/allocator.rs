//! Defines an allocator that stores collections in a scope's memory. The allocator works with all
//! collections that accept an `Allocator`. The allocator acquires chunks of memory from the scope
//! and divides them so that small allocations can share a slot.

use core::alloc::Layout;
use core::cell::Cell;
use core::fmt;
use core::mem::MaybeUninit;
use core::panic::{RefUnwindSafe, UnwindSafe};
use core::ptr::{self, NonNull, null_mut};

use allocator_api2::alloc::{AllocError, Allocator};

use crate::backend::{
    ArrayMemory, FirstUse, HostBackend, Layout as _, Memory, ScopeCursor, VectorMemory,
};
use crate::error::PoolError;
use crate::scope::Scope;

/// The minimum chunk size, in bytes.
const LEAST: usize = 1 << 10;

/// The maximum chunk size, in bytes, unless a chunk's first allocation requires more.
const MOST_GENEROUS: usize = 64 << 10;

/// In a stack, a chunk grows by at least `1 / STACK_DIVISOR` of its size.
const STACK_DIVISOR: usize = 64;

/// An allocator that provides a scope's memory to collections. This type implements the
/// [`Allocator`] trait of the `allocator-api2` crate.
///
/// [`Scope::allocator`] creates a `ScopeAllocator`. Pass a reference to the allocator to
/// `allocator_api2`'s `Vec` and `Box`, to hashbrown's maps and sets, or to any other collection
/// with an allocator parameter. With the `nightly` feature enabled, the type also implements the
/// standard library's `Allocator` trait, so the standard collections accept it. The elements may
/// implement `Drop`, because the collection drops them.
///
/// ```
/// # use pool_conformance::HeapBackend as Memory;
/// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
/// use allocator_api2::vec::Vec;
/// use hashbrown::{DefaultHashBuilder, HashMap};
///
/// let scope = pool.scope();
/// let memory = scope.allocator();
/// let mut lines = HashMap::with_hasher_in(DefaultHashBuilder::default(), &memory);
/// for (line, word) in "a b a c b a".split(' ').enumerate() {
///     lines.entry(word).or_insert_with(|| Vec::new_in(&memory)).push(line);
/// }
/// assert_eq!(lines["a"], [0, 2, 5]);
/// ```
///
/// # Memory
///
/// The allocator acquires chunks from the scope and divides them without rounding up the size of
/// each allocation. The last allocation in a chunk grows and shrinks in place, and its memory can
/// be reused once the allocation is freed. The memory of any allocation but the last cannot be
/// reused until the scope has ended.
///
/// In a pool with slots, each chunk occupies its own slot, and the chunk sizes grow from 1 KiB to
/// 64 KiB. A collection that does not share its chunk grows as a [`PoolVec`](crate::PoolVec) does,
/// by swapping blocks. In a stacked pool, a chunk grows in place until something else is acquired
/// from the scope. When the same code runs a second time, it does not allocate any memory.
///
/// The slots that contain chunks are *marked*, as explained in the *Cost* section of
/// [`acquire_with`](Scope::acquire_with).
///
/// # Refused allocations
///
/// A collection that cannot grow calls `handle_alloc_error`, which aborts the process. Methods such
/// as `try_reserve` return an error instead of aborting. The error from `try_reserve` contains no
/// sizes. Call [`take_refusal`](Self::take_refusal) to get the pool's own error, which states the
/// requested size.
///
/// # Why this is sound
///
/// 1. The memory belongs to the scope, because it was acquired through the scope's own cursor. The
///    memory is never returned to the pool while the scope's views are usable. An allocation is
///    therefore valid for `'a`, even if the allocator is moved, forgotten, or dropped.
///
/// 2. The allocator borrows the scope for `'a`. While the scope is borrowed, no inner scope can be
///    opened, so none can hand out the same memory.
///
/// 3. The type does not implement `Clone`, and every copy of a reference to it refers to the same
///    allocator. Like the scope, the allocator cannot be sent to another thread.
///
/// 4. The allocator never derives a new allocation from a pointer that a collection passes to it.
///    The allocator uses pointers from collections only to compare their addresses.
///
/// 5. While the pool runs user code, it does not hand out chunks. While an allocation is being
///    moved, its chunk has no free bytes.
///
/// # What does not compile
///
/// A collection cannot outlive its scope:
///
/// ```compile_fail,E0597
/// # use pool_conformance::HeapBackend as Memory;
/// # use allocator_api2::vec::Vec;
/// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
/// let mut numbers;
/// {
///     let scope = pool.scope();
///     let memory = scope.allocator(); // collection_outlives_its_scope
///     numbers = Vec::new_in(&memory);
/// }
/// numbers.push(1);
/// ```
///
/// No inner scope can be opened while a collection is in use:
///
/// ```compile_fail,E0502
/// # use pool_conformance::HeapBackend as Memory;
/// # use allocator_api2::vec::Vec;
/// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
/// let mut scope = pool.scope();
/// let memory = scope.allocator();
/// let mut numbers = Vec::new_in(&memory);
/// let inner = scope.scope(); // inner_scope_under_a_collection
/// numbers.push(inner.acquire::<u8, _>(1)[0]);
/// ```
///
/// A leaked value keeps the scope borrowed, so no inner scope can reuse the value's memory:
///
/// ```compile_fail,E0502
/// # use pool_conformance::HeapBackend as Memory;
/// # use allocator_api2::boxed::Box;
/// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
/// let mut scope = pool.scope();
/// let memory = scope.allocator();
/// let leaked = Box::leak(Box::new_in(1, &memory));
/// let inner = scope.scope(); // inner_scope_under_a_leaked_value
/// *leaked = 2;
/// ```
///
/// The allocator and its collections cannot be sent to another thread:
///
/// ```compile_fail,E0277
/// # use pool_conformance::HeapBackend as Memory;
/// # use allocator_api2::vec::Vec;
/// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
/// let scope = pool.scope();
/// let memory = scope.allocator();
/// let mut numbers = Vec::new_in(&memory);
/// std::thread::scope(|threads| {
///     threads.spawn(move || numbers.push(1)); // collection_to_thread
/// });
/// ```
///
/// The allocator cannot be cloned:
///
/// ```compile_fail,E0277
/// # use pool_conformance::HeapBackend as Memory;
/// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
/// fn clone_of<T: Clone>(value: &T) -> T {
///     value.clone()
/// }
/// let scope = pool.scope();
/// let memory = scope.allocator();
/// let copy = clone_of(&memory); // allocator_cloned
/// ```
pub struct ScopeAllocator<'a, B: HostBackend> {
    scope: &'a Scope<'a, B>,
    /// A pointer to the chunk's first byte.
    start: Cell<*mut u8>,
    /// The chunk's first unallocated byte. This pointer and the pointers to all allocations in the
    /// chunk are derived from `start`.
    next: Cell<*mut u8>,
    /// A pointer to the chunk's end, which is at or above `next`.
    end: Cell<*mut u8>,
    /// The memory of the chunk. If the chunk has grown, this field contains the memory of the
    /// chunk's first part. The memory is not used after `'a` ends. The lifetime in the field's type
    /// is `'static` because `'a` would make the allocator invariant.
    memory: Cell<Option<Memory<'static, B>>>,
    /// The error from the most recent allocation that the pool refused.
    refusal: Cell<Option<PoolError<B::Error>>>,
}

impl<B: HostBackend> Scope<'_, B> {
    /// Creates an allocator for collections in this scope. The allocator acquires no memory before
    /// its first allocation.
    ///
    /// While the collections are alive, the scope can still acquire arrays, but it cannot open an
    /// inner scope.
    ///
    /// ```
    /// # use pool_conformance::HeapBackend as Memory;
    /// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
    /// use allocator_api2::{boxed::Box, vec::Vec};
    /// use pool_core::ScopeAllocator;
    ///
    /// /// A tree in a scope.
    /// struct Node<'a> {
    ///     value: Box<f64, &'a ScopeAllocator<'a, Memory>>,
    ///     children: Vec<Node<'a>, &'a ScopeAllocator<'a, Memory>>,
    /// }
    ///
    /// let scope = pool.scope();
    /// let memory = scope.allocator();
    /// let leaf = Node { value: Box::new_in(2.0, &memory), children: Vec::new_in(&memory) };
    /// let mut root = Node { value: Box::new_in(1.0, &memory), children: Vec::new_in(&memory) };
    /// root.children.push(leaf);
    /// assert_eq!(*root.value + *root.children[0].value, 3.0);
    /// ```
    #[must_use]
    pub fn allocator(&self) -> ScopeAllocator<'_, B> {
        ScopeAllocator {
            scope: self,
            start: Cell::new(null_mut()),
            next: Cell::new(null_mut()),
            end: Cell::new(null_mut()),
            memory: Cell::new(None),
            refusal: Cell::new(None),
        }
    }
}

impl<B: HostBackend> ScopeAllocator<'_, B> {
    /// Removes and returns the error from the most recent allocation that the pool refused. The
    /// error states how many bytes were requested, how many are in use, and how many are allowed.
    ///
    /// ```
    /// # use pool_conformance::HeapBackend as Memory;
    /// use allocator_api2::vec::Vec;
    /// use pool_core::{Pool, PoolConfig, PoolError};
    ///
    /// let config = PoolConfig::new().byte_limit(4096);
    /// let mut pool = Pool::<Memory>::with_config(Default::default(), config)?;
    /// let scope = pool.scope();
    /// let memory = scope.allocator();
    /// let mut bytes = Vec::<u8, _>::new_in(&memory);
    /// assert!(bytes.try_reserve(10_000).is_err());
    /// assert!(matches!(memory.take_refusal(), Some(PoolError::LimitExceeded { limit: 4096, .. })));
    /// # Ok::<(), PoolError<pool_conformance::RefusalError>>(())
    /// ```
    pub fn take_refusal(&self) -> Option<PoolError<B::Error>> {
        self.refusal.take()
    }

    /// Allocates memory with the given layout from the chunk. Returns `None` if the chunk has too
    /// few free bytes.
    #[inline(always)]
    fn fit(&self, layout: Layout) -> Option<NonNull<u8>> {
        let next = self.next.get();
        let padding = next.addr().wrapping_neg() & (layout.align() - 1);
        let left = self.end.get().addr() - next.addr();
        if layout.size() > left || padding > left - layout.size() {
            return None;
        }
        let start = next.wrapping_add(padding);
        self.next.set(start.wrapping_add(layout.size()));
        NonNull::new(start)
    }

    /// Returns `true` if the allocation of `size` bytes at `start` is the last one in the chunk.
    /// `size` must not be 0.
    #[inline(always)]
    fn is_last(&self, start: NonNull<u8>, size: usize) -> bool {
        ptr::eq(start.as_ptr().wrapping_add(size), self.next.get())
    }

    /// Frees the last `bytes` bytes that were allocated from the chunk.
    #[inline(always)]
    fn step_back(&self, bytes: usize) {
        // The new value of `next` is not derived from the collection's pointer, whose provenance
        // might cover only the collection's own bytes.
        self.next.set(self.next.get().wrapping_sub(bytes));
    }

    /// Enlarges the chunk or acquires a new one, and then allocates memory with the given layout
    /// from that chunk.
    #[cold]
    #[inline(never)]
    fn allocate_anew(&self, layout: Layout) -> Result<NonNull<u8>, AllocError> {
        // The start of every chunk is aligned to a cache line. In a stack, the end of every chunk
        // is aligned to a cache line.
        let padding = layout.align().saturating_sub(B::ALIGN);
        self.take(layout.size().saturating_add(padding))?;
        self.fit(layout).ok_or(AllocError)
    }

    /// Acquires a new chunk of at least `needed` bytes, or enlarges the current chunk by at least
    /// that many bytes.
    fn take(&self, needed: usize) -> Result<(), AllocError> {
        let has_slots = B::Layout::HAS_SLOTS;
        let used = self.end.get().addr() - self.start.get().addr();
        let generous = if has_slots {
            needed.max((2 * used).clamp(LEAST, MOST_GENEROUS))
        } else {
            needed.max(LEAST + used / STACK_DIVISOR)
        };
        let reserve = |bytes: usize| {
            let bytes = bytes.checked_next_multiple_of(B::ALIGN).unwrap_or(usize::MAX);
            // SAFETY: the pool outlives `'a`, and the memory is not used after `'a` ends.
            let memory = unsafe { self.scope.cursor.try_reserve::<u8>(bytes, FirstUse::Write) };
            memory.map(|memory: Memory<'static, B>| (memory, bytes))
        };
        let reserved = match reserve(generous) {
            Err(PoolError::LimitExceeded { .. } | PoolError::OutOfMemory { .. }) => reserve(needed),
            reserved => reserved,
        };
        let (memory, bytes) = reserved.map_err(|error| self.refuse(error))?;
        // SAFETY: the memory was just reserved through this cursor, and no user code has run since
        // the reservation.
        unsafe { self.scope.cursor.step(memory) };
        // SAFETY: the memory was reserved for `bytes` bytes, the cursor has moved past it, and the
        // scope is open.
        unsafe { memory.mark::<u8>(bytes) };
        let start = memory.start::<u8>();
        // In a stack, each address belongs to at most one chunk, so the end of one chunk is never
        // the start of another. If the addresses are equal, the new memory extends the current
        // chunk.
        if has_slots || !ptr::eq(start, self.end.get()) {
            self.memory.set(Some(memory));
            self.start.set(start);
            self.next.set(start);
        }
        self.end.set(start.wrapping_add(bytes));
        Ok(())
    }

    /// Grows the last allocation from `old` to `new` bytes and returns its address. Returns `None`
    /// if the allocation must be copied to new memory.
    fn grow_last(&self, old: usize, new: usize) -> Result<Option<NonNull<u8>>, AllocError> {
        let start = self.next.get().wrapping_sub(old);
        if new > self.end.get().addr() - start.addr() {
            if B::Layout::HAS_SLOTS {
                return self.exchange(old, new);
            }
            // If the new memory is not adjacent to the current chunk, it becomes a new current
            // chunk, and this allocation remains in the old one.
            self.take(new - (self.end.get().addr() - start.addr()))?;
            if !self.is_last_at(start, old) {
                return Ok(None);
            }
        }
        self.next.set(start.wrapping_add(new));
        Ok(NonNull::new(start))
    }

    /// Returns `true` if the last allocation still starts at `start` and has `old` bytes.
    fn is_last_at(&self, start: *mut u8, old: usize) -> bool {
        NonNull::new(start).is_some_and(|start| self.is_last(start, old))
    }

    /// Grows an allocation that does not share its slot. This method swaps the slot's block for a
    /// larger one. Returns `None` if the allocation shares its slot.
    #[cold]
    fn exchange(&self, old: usize, new: usize) -> Result<Option<NonNull<u8>>, AllocError> {
        let (start, next, end) = (self.start.get(), self.next.get(), self.end.get());
        let Some(memory) = self.memory.get() else { return Ok(None) };
        if !ptr::eq(start.wrapping_add(old), next) {
            return Ok(None);
        }
        // The chunk has no free bytes during the swap. User code that runs during the swap
        // therefore cannot allocate bytes from this chunk. If user code could allocate bytes from
        // the chunk, those bytes would not move to the larger block.
        self.next.set(end);
        let capacity = end.addr() - start.addr();
        let vector = VectorMemory { memory, capacity, length: old, plain: false };
        // SAFETY: the cursor has moved past the memory. The memory contains only this allocation,
        // and the allocation's owner does not use it during this call. A `MaybeUninit` may contain
        // any bytes.
        let grown = unsafe { self.scope.cursor.enlarge::<MaybeUninit<u8>>(vector, new) };
        match grown {
            Ok(grown) => {
                let start = grown.memory.start::<u8>();
                self.memory.set(Some(grown.memory));
                self.start.set(start);
                self.next.set(start.wrapping_add(new));
                self.end.set(start.wrapping_add(grown.capacity));
                Ok(NonNull::new(start))
            }
            Err(error) => {
                self.memory.set(Some(memory));
                self.start.set(start);
                self.next.set(next);
                self.end.set(end);
                Err(self.refuse(error))
            }
        }
    }

    #[cold]
    fn refuse(&self, error: PoolError<B::Error>) -> AllocError {
        drop(self.refusal.replace(Some(error)));
        AllocError
    }
}

/// Returns `true` if the `start` address is a multiple of `align`.
#[inline(always)]
fn is_aligned(start: NonNull<u8>, align: usize) -> bool {
    start.addr().get() & (align - 1) == 0
}

// SAFETY: the scope's cursor has moved past the memory of every allocation. The allocator never
// hands out memory that is still in use, because `next` moves back only over allocations that are
// freed, shrunk, or moved. The memory is valid for `'a`, and neither the allocator nor a reference
// to it can outlive `'a`. Moving the allocator does not move any allocation. The type cannot be
// cloned, and every copy of a reference to it refers to the same allocator.
unsafe impl<B: HostBackend> Allocator for ScopeAllocator<'_, B> {
    #[inline]
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        if layout.size() == 0 {
            return Ok(NonNull::slice_from_raw_parts(dangling(layout), 0));
        }
        let start = match self.fit(layout) {
            Some(start) => start,
            None => self.allocate_anew(layout)?,
        };
        Ok(NonNull::slice_from_raw_parts(start, layout.size()))
    }

    #[inline]
    unsafe fn deallocate(&self, start: NonNull<u8>, layout: Layout) {
        if layout.size() != 0 && self.is_last(start, layout.size()) {
            self.step_back(layout.size());
        }
    }

    #[inline]
    unsafe fn grow(
        &self,
        start: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        let in_place =
            old.size() != 0 && is_aligned(start, new.align()) && self.is_last(start, old.size());
        if in_place && new.align() <= B::ALIGN {
            if let Some(start) = self.grow_last(old.size(), new.size())? {
                return Ok(NonNull::slice_from_raw_parts(start, new.size()));
            }
        }
        let grown = self.allocate(new)?;
        // SAFETY: the old memory has `old.size()` bytes, and the new memory is at least as large.
        // Both allocations are live, so they do not overlap.
        unsafe { grown.cast::<u8>().copy_from_nonoverlapping(start, old.size()) };
        Ok(grown)
    }

    unsafe fn grow_zeroed(
        &self,
        start: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        // SAFETY: the caller upholds the safety contract of `grow`.
        let grown = unsafe { self.grow(start, old, new) }?;
        // SAFETY: the memory has `new.size()` bytes, which is at least `old.size()`.
        let tail = unsafe { grown.cast::<u8>().add(old.size()) };
        // SAFETY: the first `old.size()` bytes of the memory are followed by
        // `new.size() - old.size()` more bytes.
        unsafe { tail.write_bytes(0, new.size() - old.size()) };
        Ok(grown)
    }

    #[inline]
    unsafe fn shrink(
        &self,
        start: NonNull<u8>,
        old: Layout,
        new: Layout,
    ) -> Result<NonNull<[u8]>, AllocError> {
        if is_aligned(start, new.align()) {
            if old.size() != 0 && self.is_last(start, old.size()) {
                self.step_back(old.size() - new.size());
            }
            return Ok(NonNull::slice_from_raw_parts(start, new.size()));
        }
        let shrunk = self.allocate(new)?;
        // SAFETY: the old memory and the new memory each have at least `new.size()` bytes. Both
        // allocations are live, so they do not overlap.
        unsafe { shrunk.cast::<u8>().copy_from_nonoverlapping(start, new.size()) };
        Ok(shrunk)
    }
}

/// Returns an address for an allocation of zero bytes.
#[inline(always)]
fn dangling(layout: Layout) -> NonNull<u8> {
    // The address is not null, because an alignment is never zero.
    NonNull::new(ptr::without_provenance_mut(layout.align())).unwrap_or(NonNull::dangling())
}

/// A panic cannot violate any of the allocator's invariants.
impl<B: HostBackend> UnwindSafe for ScopeAllocator<'_, B> {}
impl<B: HostBackend> RefUnwindSafe for ScopeAllocator<'_, B> {}

impl<B: HostBackend> fmt::Debug for ScopeAllocator<'_, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used = self.next.get().addr() - self.start.get().addr();
        let left = self.end.get().addr() - self.next.get().addr();
        f.debug_struct("ScopeAllocator")
            .field("chunk_used", &used)
            .field("chunk_left", &left)
            .finish_non_exhaustive()
    }
}
