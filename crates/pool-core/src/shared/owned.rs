//! An array that owns its memory, and returns it to its pool when it is dropped.

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

/// An array of a [`SharedPool`](crate::SharedPool) that owns its memory.
///
/// It borrows nothing, is `Send` if `T` is, and may be dropped on any thread. On the host it derefs to a slice and is
/// `Sync` if `T` is. Arrays of all backends lend views: [`view`](Self::view) and [`view_mut`](Self::view_mut).
///
/// Forgetting an array leaks its block. The pool counts the array as live from then on.
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
/// 1. A block is in one list, or in one `Owned`. It is moved between them under the lock of a shard.
/// 2. A shard, an origin and a configuration live as long as a handle or an array does (module `store`).
/// 3. Only [`PodElement`](crate::PodElement)s get recycled contents. Before, each byte of the block that may be
///    uninitialised is zeroed.
/// 4. Views borrow the array.
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

// SAFETY: an array owns its memory, which is `Send` (`OwnedMemory`), and its elements (the bound). It uses only those
// parts of the store that threads share.
unsafe impl<B: SharedBackend, T: Send> Send for Owned<B, T> {}

// SAFETY: a shared array gives shared access to its memory and elements (the bounds) alone.
unsafe impl<B: SharedBackend<Memory: Sync>, T: Sync> Sync for Owned<B, T> {}

impl<B: SharedBackend, T> Owned<B, T> {
    /// # Safety
    ///
    /// This name is that of the latest array in the block's memory, which has `length` valid elements.
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

    /// Returns `true` if there are no elements.
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
        // SAFETY: the name is that of the memory's latest array (`new`); the view borrows the array.
        unsafe { self.block.record.memory.view(self.name, self.length) }
    }

    /// Returns the backend's view for writing the elements.
    #[inline]
    pub fn view_mut(&mut self) -> B::View<'_, T> {
        let (name, length) = (self.name, self.length);
        // SAFETY: as in `view`, exclusively.
        unsafe { self.block.memory_mut().view_mut(name, length) }
    }
}

impl<B: SharedHostBackend, T> Deref for Owned<B, T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the array's memory holds `length` valid elements from here on (`new`), and is the array's own.
        unsafe { slice::from_raw_parts(self.name.as_ptr(), self.length) }
    }
}

impl<B: SharedHostBackend, T> DerefMut for Owned<B, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, exclusively.
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

/// A block of a store, which the drop of this value returns.
pub(super) struct TakenBlock<B: SharedBackend> {
    record: ManuallyDrop<BlockRecord<B>>,
    store: NonNull<Store<B>>,
}

impl<B: SharedBackend> TakenBlock<B> {
    /// # Safety
    ///
    /// The record was taken from the store, or adopted by it, and not returned.
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
        // SAFETY: the record is taken out here alone.
        let record = unsafe { ManuallyDrop::take(&mut self.record) };
        // SAFETY: taken from this store (`new`), and the array is gone.
        unsafe { give_back(self.store, record) };
    }
}
