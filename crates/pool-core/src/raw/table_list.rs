//! The list of a pool's tables: code that the allocator runs may read it while it grows.

use alloc::vec::Vec;
use core::cell::UnsafeCell;
use core::mem;
use core::ptr::NonNull;

use crate::count::Count;

/// Addresses that are added one by one, and never removed.
pub(super) struct TableList<T> {
    list: UnsafeCell<Vec<NonNull<T>>>,
    /// The length of the list, for other threads.
    count: Count,
}

impl<T> TableList<T> {
    /// A list without addresses.
    pub(super) const fn new() -> Self {
        Self { list: UnsafeCell::new(Vec::new()), count: Count::new(0) }
    }

    /// Returns the number of addresses.
    pub(super) fn len(&self) -> usize {
        // SAFETY: the list is referred to in the methods of this type alone, on one thread
        // (invariant 7). None of them calls anything, not even the allocator, while it has the
        // reference. So this is the only one, or one of several shared ones.
        let list = unsafe { &*self.list.get() };
        list.len()
    }

    /// Returns the number of addresses, for any thread.
    pub(super) fn counted(&self) -> usize {
        self.count.get()
    }

    /// Returns the address of a number.
    ///
    /// # Safety
    ///
    /// There are more than `number` addresses.
    pub(super) unsafe fn get(&self, number: usize) -> NonNull<T> {
        // SAFETY: as in `len`.
        let list = unsafe { &*self.list.get() };
        debug_assert!(number < list.len(), "table {number} of {}", list.len());
        // SAFETY: the same contract, which the caller upholds.
        unsafe { *list.get_unchecked(number) }
    }

    /// Makes room for one more address, or fails with the bytes that the host cannot allocate. A
    /// longer list is made aside: code that the allocator runs sees the old list or the new one.
    pub(super) fn make_room(&self) -> Result<(), usize> {
        let count = self.len();
        // SAFETY: as in `len`.
        if unsafe { &*self.list.get() }.capacity() > count {
            return Ok(());
        }
        let longer = (2 * count).max(4);
        let mut list = Vec::new();
        list.try_reserve_exact(longer).map_err(|_| longer * size_of::<NonNull<T>>())?;
        // SAFETY: as in `len`; there is room, so the allocator is not called.
        list.extend_from_slice(unsafe { &*self.list.get() });
        // SAFETY: as in `len`: swapping calls no other code.
        mem::swap(unsafe { &mut *self.list.get() }, &mut list);
        // Frees the old list, which nothing refers to any more.
        drop(list);
        Ok(())
    }

    /// Adds an address.
    ///
    /// # Safety
    ///
    /// [`make_room`](Self::make_room) has made room for it, and nothing was added since.
    pub(super) unsafe fn push(&self, address: NonNull<T>) {
        // SAFETY: as in `len`; there is room (caller), so the allocator is not called.
        let list = unsafe { &mut *self.list.get() };
        list.push(address);
        self.count.set(list.len());
    }
}
