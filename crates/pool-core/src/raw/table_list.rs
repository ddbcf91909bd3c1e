//! The list of a pool's tables, which code that the allocator runs may read while the list grows.

use alloc::vec::Vec;
use core::cell::UnsafeCell;
use core::mem;
use core::ptr::NonNull;

use crate::count::Count;

/// Addresses that are added one by one, and are never removed.
pub(super) struct TableList<T> {
    list: UnsafeCell<Vec<NonNull<T>>>,
    /// A copy of the list's length that other threads can read.
    count: Count,
}

impl<T> TableList<T> {
    /// Creates an empty list.
    pub(super) const fn new() -> Self {
        Self { list: UnsafeCell::new(Vec::new()), count: Count::new(0) }
    }

    /// Returns the number of addresses.
    pub(super) fn len(&self) -> usize {
        // SAFETY: the list is accessed only in the methods of this type, on one thread (invariant
        // 7). None of them calls other code, not even the allocator, while it holds the reference.
        // The reference is therefore the only one, or one of several shared references.
        let list = unsafe { &*self.list.get() };
        list.len()
    }

    /// Returns the number of addresses. Any thread may call this method.
    pub(super) fn counted(&self) -> usize {
        self.count.get()
    }

    /// Returns the address with the given number.
    ///
    /// # Safety
    ///
    /// The list contains more than `number` addresses.
    pub(super) unsafe fn get(&self, number: usize) -> NonNull<T> {
        // SAFETY: as in `len`.
        let list = unsafe { &*self.list.get() };
        debug_assert!(number < list.len(), "table {number} of {}", list.len());
        // SAFETY: the caller upholds the same contract.
        unsafe { *list.get_unchecked(number) }
    }

    /// Allocates memory for one more address, or fails with the number of bytes that the host
    /// cannot allocate. A longer list is built separately, so code that the allocator runs sees
    /// either the old list or the new one.
    pub(super) fn make_room(&self) -> Result<(), usize> {
        let count = self.len();
        // SAFETY: as in `len`.
        if unsafe { &*self.list.get() }.capacity() > count {
            return Ok(());
        }
        let longer = (2 * count).max(4);
        let mut list = Vec::new();
        list.try_reserve_exact(longer).map_err(|_| longer * size_of::<NonNull<T>>())?;
        // SAFETY: as in `len`. The capacity suffices, so the allocator is not called.
        list.extend_from_slice(unsafe { &*self.list.get() });
        // SAFETY: as in `len`. Swapping calls no other code.
        mem::swap(unsafe { &mut *self.list.get() }, &mut list);
        // This frees the old list, to which nothing refers any more.
        drop(list);
        Ok(())
    }

    /// Adds an address.
    ///
    /// # Safety
    ///
    /// [`make_room`](Self::make_room) has allocated memory for the address, and nothing has been
    /// added since.
    pub(super) unsafe fn push(&self, address: NonNull<T>) {
        // SAFETY: as in `len`. The capacity suffices (caller), so the allocator is not called.
        let list = unsafe { &mut *self.list.get() };
        list.push(address);
        self.count.set(list.len());
    }
}
