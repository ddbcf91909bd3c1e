//! Defines the list of a pool's tables. While the list grows, the allocator might run code that
//! reads the list.

use alloc::vec::Vec;
use core::cell::UnsafeCell;
use core::mem;
use core::ptr::NonNull;

use crate::count::Count;

/// A list of addresses that are added one at a time and never removed.
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

    /// Returns the number of addresses in the list.
    pub(super) fn len(&self) -> usize {
        // SAFETY: only the methods of this type access the list, and all of them run on one thread
        // (invariant 7). A method that holds a reference to the list calls no other code, not even
        // the allocator. Therefore, no exclusive reference to the list exists at this point.
        let list = unsafe { &*self.list.get() };
        list.len()
    }

    /// Returns the number of addresses in the list. Any thread may call this method.
    pub(super) fn counted(&self) -> usize {
        self.count.get()
    }

    /// Returns the address with the given number.
    ///
    /// # Safety
    ///
    /// The list must contain more than `number` addresses.
    pub(super) unsafe fn get(&self, number: usize) -> NonNull<T> {
        // SAFETY: no method of this type calls other code while it holds a reference to the list.
        // Therefore, no exclusive reference to the list exists at this point.
        let list = unsafe { &*self.list.get() };
        debug_assert!(number < list.len(), "table {number} of {}", list.len());
        // SAFETY: the caller upholds the safety contract of `get_unchecked`.
        unsafe { *list.get_unchecked(number) }
    }

    /// Ensures that the list has capacity for one more address. If the allocation fails, the method
    /// returns the number of bytes that the host could not allocate. The method builds the longer
    /// list separately, so code that the allocator runs sees either the old list or the new one.
    pub(super) fn make_room(&self) -> Result<(), usize> {
        let count = self.len();
        // SAFETY: no method of this type calls other code while it holds a reference to the list.
        // Therefore, no exclusive reference to the list exists at this point.
        if unsafe { &*self.list.get() }.capacity() > count {
            return Ok(());
        }
        let longer = (2 * count).max(4);
        let mut list = Vec::new();
        list.try_reserve_exact(longer).map_err(|_| longer * size_of::<NonNull<T>>())?;
        // SAFETY: the new list has sufficient capacity, so the allocator does not run while the
        // reference to the old list is held. No exclusive reference to the old list exists.
        list.extend_from_slice(unsafe { &*self.list.get() });
        // SAFETY: the swap runs no other code. No other reference to the list exists at this point.
        mem::swap(unsafe { &mut *self.list.get() }, &mut list);
        drop(list);
        Ok(())
    }

    /// Adds an address to the list.
    ///
    /// # Safety
    ///
    /// The caller must have reserved capacity for the address with [`make_room`](Self::make_room)
    /// and must not have used that capacity yet.
    pub(super) unsafe fn push(&self, address: NonNull<T>) {
        // SAFETY: the caller guarantees that the list has sufficient capacity, so pushing does not
        // run the allocator. No other reference to the list exists at this point.
        let list = unsafe { &mut *self.list.get() };
        list.push(address);
        self.count.set(list.len());
    }
}
