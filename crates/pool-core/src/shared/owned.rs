//! Defines an array that owns its memory and returns the memory to the pool when dropped.

use core::fmt;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use core::slice;

use super::host_memory::SharedHostBackend;
use super::memory::{OwnedMemory, SharedBackend};
use super::store::{BlockRecord, Store, give_back};
use crate::element::Element;

/// An array that is acquired from a [`SharedPool`](crate::SharedPool) and owns its memory.
///
/// An `Owned` array borrows nothing, is `Send` if `T` is, and can be dropped on any thread. On the
/// host, the array dereferences to a slice, and it is `Sync` if `T` is. On every backend,
/// [`view`](Self::view) and [`view_mut`](Self::view_mut) return views of the array.
///
/// If an array is forgotten, its block is leaked, and the pool counts the array as live forever.
///
/// ```
/// # use pool_conformance::HeapBackend as Memory;
/// use pool_core::{Owned, SharedPool};
///
/// fn ramp(pool: &SharedPool<Memory>, length: usize) -> Owned<Memory, u32> {
///     pool.take_with(length, |i| i as u32)
/// }
///
/// let pool = SharedPool::<Memory>::new(Default::default());
/// let mut numbers = ramp(&pool, 5);
/// drop(pool); // the array keeps its memory
/// numbers.reverse();
/// assert_eq!(*numbers, [4, 3, 2, 1, 0]);
/// ```
///
/// # Why this is sound
///
/// 1. Each block is either in one list or in one `Owned` array. A block moves between a list and an
///    array only while a shard is locked.
///
/// 2. A shard, an origin, and a configuration remain live for as long as their pool has a handle or
///    an array (see the `store` module).
///
/// 3. Only arrays of [`PodElement`](crate::PodElement)s receive recycled contents. Before a block's
///    contents are recycled, all bytes that might be uninitialized are zeroed.
///
/// 4. Every view borrows its array.
///
/// | misuse | outcome |
/// |---|---|
/// | send an array whose elements are not `Send` | compile error |
/// | keep a view or slice beyond the array | compile error |
/// | take recycled `bool`s | compile error |
/// | drop or forget arrays in any order, on any thread, after the pool | harmless |
/// | ask for too much | typed error |
///
/// ```compile_fail,E0277
/// # use pool_conformance::HeapBackend as Memory;
/// fn is_send<T: Send>() {}
/// is_send::<pool_core::Owned<Memory, *const u8>>(); // owned_of_what_is_not_send
/// ```
///
/// ```compile_fail,E0277
/// # use pool_conformance::HeapBackend as Memory;
/// fn is_sync<T: Sync>() {}
/// is_sync::<pool_core::Owned<Memory, std::cell::Cell<u8>>>(); // owned_of_what_is_not_sync
/// ```
///
/// ```compile_fail,E0505
/// # use pool_conformance::HeapBackend as Memory;
/// # let pool = pool_core::SharedPool::<Memory>::new(Default::default());
/// let array = pool.take_zeroed::<u8>(8);
/// let slice = &array[..4];
/// drop(array); // owned_dropped_while_borrowed
/// assert_eq!(slice.len(), 4);
/// ```
///
/// ```compile_fail,E0277
/// # use pool_conformance::HeapBackend as Memory;
/// # let pool = pool_core::SharedPool::<Memory>::new(Default::default());
/// let flags = pool.take::<bool>(8); // owned_recycled_bool
/// ```
#[must_use = "an array returns its memory when it is dropped"]
pub struct Owned<B: SharedBackend, T> {
    block: TakenBlock<B>,
    name: <B::Memory as OwnedMemory<B>>::Name<T>,
    length: usize,
    elements: PhantomData<T>,
}

// SAFETY: an array owns its memory and its elements. The memory is `Send`, as `OwnedMemory`
// requires, and the elements are `Send`, as the bound requires. The array uses only the parts of
// the store that threads may share.
unsafe impl<B: SharedBackend, T: Send> Send for Owned<B, T> {}

// SAFETY: a shared reference to an array gives only shared access to the array's memory and
// elements. The bounds require the memory and the elements to be `Sync`.
unsafe impl<B: SharedBackend<Memory: Sync>, T: Sync> Sync for Owned<B, T> {}

impl<B: SharedBackend, T> Owned<B, T> {
    /// # Safety
    ///
    /// `name` must identify the array that was most recently created in the block's memory, and
    /// that array must have `length` valid elements.
    #[inline(always)]
    pub(super) unsafe fn new(
        block: TakenBlock<B>,
        name: <B::Memory as OwnedMemory<B>>::Name<T>,
        length: usize,
    ) -> Self {
        Self { block, name, length, elements: PhantomData }
    }

    /// Returns the number of elements.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns `true` if the array has no elements.
    #[inline]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }
}

impl<B: SharedBackend, T: Element> Owned<B, T> {
    /// Returns the backend's view for reading the elements.
    #[inline]
    #[must_use]
    pub fn view(&self) -> B::ViewRef<'_, T> {
        // SAFETY: `name` identifies the array that was most recently created in this memory, as
        // `new` requires. The view borrows the array.
        unsafe { self.block.record.memory.view(self.name, self.length) }
    }

    /// Returns the backend's view for writing the elements.
    #[inline]
    pub fn view_mut(&mut self) -> B::View<'_, T> {
        let (name, length) = (self.name, self.length);
        // SAFETY: `name` identifies the array that was most recently created in this memory, as
        // `new` requires. The view borrows the array exclusively.
        unsafe { self.block.memory_mut().view_mut(name, length) }
    }
}

impl<B: SharedHostBackend, T> Deref for Owned<B, T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `length` valid elements start at this address, as `new` requires. The elements'
        // memory belongs only to this array.
        unsafe { slice::from_raw_parts(self.name.as_ptr(), self.length) }
    }
}

impl<B: SharedHostBackend, T> DerefMut for Owned<B, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: `length` valid elements start at this address, as `new` requires. The elements'
        // memory belongs only to this array, which is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(self.name.as_ptr(), self.length) }
    }
}

impl<B: SharedHostBackend, T> AsRef<[T]> for Owned<B, T> {
    fn as_ref(&self) -> &[T] {
        self
    }
}

impl<B: SharedHostBackend, T> AsMut<[T]> for Owned<B, T> {
    fn as_mut(&mut self) -> &mut [T] {
        self
    }
}

/// A panic cannot leave an array's memory in an inconsistent state.
impl<B: SharedBackend, T: core::panic::UnwindSafe> core::panic::UnwindSafe for Owned<B, T> {}
impl<B: SharedBackend, T: core::panic::RefUnwindSafe> core::panic::RefUnwindSafe for Owned<B, T> {}

impl<B: SharedBackend, T> fmt::Debug for Owned<B, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Owned").field("length", &self.length).finish_non_exhaustive()
    }
}

/// A block of a store. Dropping this value returns the block to the store.
pub(super) struct TakenBlock<B: SharedBackend> {
    record: ManuallyDrop<BlockRecord<B>>,
    store: NonNull<Store<B>>,
}

impl<B: SharedBackend> TakenBlock<B> {
    /// # Safety
    ///
    /// The record must have been acquired from the store or adopted by it, and must not yet have
    /// been returned.
    #[inline(always)]
    pub(super) unsafe fn new(store: NonNull<Store<B>>, record: BlockRecord<B>) -> Self {
        Self { record: ManuallyDrop::new(record), store }
    }

    #[inline(always)]
    pub(super) fn memory_mut(&mut self) -> &mut B::Memory {
        &mut self.record.memory
    }
}

impl<B: SharedBackend> Drop for TakenBlock<B> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: only `drop` moves the record out of this value, which is dropped only once.
        let record = unsafe { ManuallyDrop::take(&mut self.record) };
        // SAFETY: the record belongs to this store, as `new` requires. The array in the record's
        // block is no longer used.
        unsafe { give_back(self.store, record) };
    }
}
