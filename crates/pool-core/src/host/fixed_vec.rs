//! Defines a vector that has a fixed capacity and is stored in a scope's memory. The vector's
//! memory never moves, and the vector does not store a reference to a pool.

use core::error::Error;
use core::fmt;
use core::iter::Copied;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::{Bound, Deref, DerefMut, RangeBounds};
use core::ptr::NonNull;
use core::slice;

use super::plain::is_known_plain;
use crate::backend::{ArrayMemory, HostBackend, ScopeCursor};
use crate::element::HostElement;
use crate::error::{PoolError, panic_with};
use crate::scope::Scope;

/// A vector that has a fixed capacity and is stored in a pool's memory.
///
/// [`Scope::acquire_fixed_vec`] creates a `FixedVec`. The vector borrows only its memory, so inner
/// scopes can be opened while elements are being pushed. The vector dereferences to a slice of the
/// elements pushed so far, and [`into_slice`](Self::into_slice) converts the vector into that
/// slice.
///
/// ```
/// # use pool_conformance::HeapBackend as Memory;
/// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
/// let mut scope = pool.scope();
/// let mut edges = scope.acquire_fixed_vec::<(usize, f32)>(100);
/// for row in 0..3 {
///     let inner = scope.scope();
///     let weights = inner.acquire_with(4, |column| (row * column) as f32);
///     edges.try_extend(weights.iter().copied().enumerate().filter(|&(_, w)| w > 3.0))?;
/// }
/// assert_eq!(edges.into_slice(), [(2, 4.0), (3, 6.0)]);
/// # Ok::<(), pool_core::CapacityError<(usize, f32)>>(())
/// ```
pub struct FixedVec<'s, T> {
    /// Memory that is large enough for `capacity` elements. The memory belongs only to this vector
    /// for `'s`, and only values of `T` are written to it.
    ///
    /// The field is a pointer rather than a reference because a [`PoolVec`](super::PoolVec)
    /// replaces the vector's memory. A reference would be unsound because the vector can be passed
    /// to a function by value. With a reference field, a function that takes the vector by value
    /// would assert that no other pointer accesses the memory until the function returns.
    room: NonNull<[MaybeUninit<T>]>,
    /// The number of initialized elements at the start of the memory.
    length: usize,
    lifetime: PhantomData<&'s mut [T]>,
}

// SAFETY: the vector has exclusive access to its elements, as a `&'s mut [T]` does, and no other
// code uses the elements during `'s`.
unsafe impl<T: Send> Send for FixedVec<'_, T> {}

// SAFETY: a shared reference to the vector provides access only to a `&[T]`.
unsafe impl<T: Sync> Sync for FixedVec<'_, T> {}

/// The error returned if an element does not fit in a [`FixedVec`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CapacityError<T> {
    /// The first element that did not fit in the vector.
    pub element: T,
    /// The vector's capacity in elements.
    pub capacity: usize,
}

impl<T> fmt::Display for CapacityError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the vector is full: all {} elements of its capacity are in use; acquire a larger \
             vector",
            self.capacity
        )
    }
}

impl<T: fmt::Debug> Error for CapacityError<T> {}

impl<'s, B: HostBackend> Scope<'s, B> {
    /// Acquires an empty vector for at most `capacity` elements of any [`Copy`] type. This method
    /// has the same cost as [`acquire_with`](Self::acquire_with).
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_acquire_fixed_vec`](Self::try_acquire_fixed_vec) would
    /// return.
    #[inline]
    #[track_caller]
    pub fn acquire_fixed_vec<T: HostElement + 's>(&self, capacity: usize) -> FixedVec<'s, T> {
        self.cursor.note_caller();
        self.try_acquire_fixed_vec(capacity).unwrap_or_else(|error| panic_with(&error))
    }

    /// The fallible version of [`acquire_fixed_vec`](Self::acquire_fixed_vec).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`try_acquire`](Self::try_acquire).
    #[inline]
    pub fn try_acquire_fixed_vec<T: HostElement + 's>(
        &self,
        capacity: usize,
    ) -> Result<FixedVec<'s, T>, PoolError<B::Error>> {
        // SAFETY: a vector writes only values of `T`.
        let slot = unsafe { self.take_unwritten::<T>(capacity, is_known_plain::<T>()) }?;
        // SAFETY: the slot was acquired for `capacity` elements with the size and alignment of `T`.
        // A `MaybeUninit` may contain any bytes, and `room` is the slot's first view.
        let room = unsafe { slot.host_slice(capacity) };
        // SAFETY: the length is 0, so no element needs to be initialized. `take_unwritten` has
        // already marked the slot, unless `T` is plain.
        Ok(unsafe { FixedVec::new(room, 0) })
    }
}

impl<'s, T: Copy> FixedVec<'s, T> {
    /// Creates a vector in memory whose first `length` elements are initialized.
    ///
    /// # Safety
    ///
    /// The first `length` elements of `room` must be initialized, and `length` must be at most the
    /// length of `room`. The slot that contains the memory must be marked unless `T` is plain.
    #[inline]
    pub(super) unsafe fn new(room: &'s mut [MaybeUninit<T>], length: usize) -> Self {
        Self { room: NonNull::from(room), length, lifetime: PhantomData }
    }

    /// Returns the number of elements. Unlike `self.len()`, which dereferences to a slice, this
    /// method does not create a reference to the memory.
    #[inline]
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// Returns the vector's capacity in elements.
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.room.len()
    }

    /// Returns `true` if the vector is full.
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.length == self.capacity()
    }

    /// Appends an element.
    ///
    /// # Errors
    ///
    /// If the vector is full, returns a [`CapacityError`] that contains the element.
    #[inline]
    pub fn push(&mut self, element: T) -> Result<(), CapacityError<T>> {
        let capacity = self.capacity();
        if self.length >= capacity {
            return Err(CapacityError { element, capacity });
        }
        // SAFETY: the position is within the vector's memory, because the length is less than the
        // capacity.
        let place = unsafe { self.start().add(self.length) };
        // SAFETY: the memory belongs only to this vector and is aligned for `T`.
        unsafe { place.write(element) };
        self.length += 1;
        Ok(())
    }

    /// Appends all elements of an iterator. If an element does not fit, the vector retains the
    /// elements that were already appended.
    ///
    /// # Errors
    ///
    /// Returns a [`CapacityError`] that contains the first element that did not fit.
    pub fn try_extend(
        &mut self,
        elements: impl IntoIterator<Item = T>,
    ) -> Result<(), CapacityError<T>> {
        elements.into_iter().try_for_each(|element| self.push(element))
    }

    /// Appends a copy of `elements`. If not all of `elements` fit, the method appends none of them.
    ///
    /// # Errors
    ///
    /// Returns a [`CapacityError`] that contains the first element that would not fit.
    pub fn extend_from_slice(&mut self, elements: &[T]) -> Result<(), CapacityError<T>> {
        let left = self.capacity() - self.length;
        if let Some(&element) = elements.get(left) {
            return Err(CapacityError { element, capacity: self.capacity() });
        }
        // SAFETY: the length is at most the capacity.
        let end = unsafe { self.start().add(self.length) };
        // SAFETY: there is room for all of `elements` after the vector's last element. The two
        // slices do not overlap, because `elements` is borrowed and no other value owns the
        // vector's memory.
        unsafe { end.copy_from_nonoverlapping(elements.as_ptr(), elements.len()) };
        self.length += elements.len();
        Ok(())
    }

    /// Removes the last element and returns it.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let last = *self.last()?;
        self.length -= 1;
        Some(last)
    }

    /// Removes the element at `index` and moves the last element to its position. Returns `None` if
    /// no element has this index.
    pub fn swap_remove(&mut self, index: usize) -> Option<T> {
        let element = *self.get(index)?;
        let last = self.pop()?;
        if let Some(place) = self.get_mut(index) {
            *place = last;
        }
        Some(element)
    }

    /// Inserts an element at `index` and moves the later elements up by one position.
    ///
    /// # Errors
    ///
    /// If the vector is full, returns a [`CapacityError`] that contains the element.
    ///
    /// # Panics
    ///
    /// Panics if `index` is greater than the length.
    #[track_caller]
    pub fn insert(&mut self, index: usize, element: T) -> Result<(), CapacityError<T>> {
        assert!(
            index <= self.length,
            "cannot insert at index {index}: the length is only {}",
            self.length
        );
        self.push(element)?;
        self[index..].rotate_right(1);
        Ok(())
    }

    /// Removes the element at `index` and moves the later elements down by one position. Returns
    /// `None` if no element has this index.
    pub fn remove(&mut self, index: usize) -> Option<T> {
        self.get(index)?;
        self[index..].rotate_left(1);
        self.pop()
    }

    /// Removes the elements in a range and moves the later elements down. The elements are removed
    /// even if the returned iterator is not used.
    ///
    /// # Panics
    ///
    /// Panics if the range is not within the vector.
    #[track_caller]
    pub fn drain(&mut self, range: impl RangeBounds<usize>) -> Copied<slice::Iter<'_, T>> {
        let start = match range.start_bound() {
            Bound::Included(&start) => start,
            Bound::Excluded(&before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(&last) => last.saturating_add(1),
            Bound::Excluded(&end) => end,
            Bound::Unbounded => self.length,
        };
        let count = self[start..end].len();
        self[start..].rotate_left(count);
        let kept = self.length - count;
        self.length = kept;
        // SAFETY: `kept` is at most the old length, so the position is within the memory.
        let drained = unsafe { self.start().add(kept) };
        // SAFETY: `drained` points to `count` initialized elements, and the vector remains borrowed
        // while the slice is in use.
        unsafe { slice::from_raw_parts(drained, count) }.iter().copied()
    }

    /// Changes the number of elements to `length`. The method either appends copies of `element` or
    /// removes elements from the end.
    ///
    /// # Errors
    ///
    /// If the elements do not fit, the method returns [`CapacityError`] and leaves the vector
    /// unchanged.
    pub fn resize(&mut self, length: usize, element: T) -> Result<(), CapacityError<T>> {
        let capacity = self.capacity();
        if length > capacity {
            return Err(CapacityError { element, capacity });
        }
        self.truncate(length);
        while self.length < length {
            self.push(element)?;
        }
        Ok(())
    }

    /// Appends the elements of another vector and leaves that vector empty.
    ///
    /// # Errors
    ///
    /// Returns a [`CapacityError`] that contains the first element that would not fit. Both vectors
    /// stay unchanged.
    pub fn append(&mut self, other: &mut FixedVec<'_, T>) -> Result<(), CapacityError<T>> {
        self.extend_from_slice(other)?;
        other.clear();
        Ok(())
    }

    /// Removes each element that is equal to the element before it.
    pub fn dedup(&mut self)
    where
        T: PartialEq,
    {
        let mut last = None;
        self.retain(|element| last.replace(*element).as_ref() != Some(element));
    }

    /// Shortens the vector to its first `length` elements. If the vector contains at most `length`
    /// elements, the method removes nothing.
    #[inline]
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Removes every element.
    #[inline]
    pub fn clear(&mut self) {
        self.length = 0;
    }

    /// Removes all elements that `keep` rejects and preserves the order of the others. If `keep`
    /// panics, the vector's length does not change, but the vector contains an unspecified
    /// selection of its former elements.
    pub fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        let mut kept = 0;
        for index in 0..self.length {
            let element = self[index];
            if keep(&element) {
                self[kept] = element;
                kept += 1;
            }
        }
        self.length = kept;
    }

    /// Converts the vector into a slice of its elements. The slice remains valid for as long as the
    /// scope's views do. The vector's remaining capacity stays unused.
    #[inline]
    #[must_use]
    pub fn into_slice(self) -> &'s mut [T] {
        // SAFETY: `length` elements are initialized. Until now, the memory belonged only to this
        // vector; from now on, it belongs only to the slice.
        unsafe { slice::from_raw_parts_mut(self.start(), self.length) }
    }
}

impl<T> FixedVec<'_, T> {
    /// Returns the address of the first element.
    #[inline]
    fn start(&self) -> *mut T {
        self.room.as_ptr().cast()
    }
}

impl<T> Deref for FixedVec<'_, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the first `length` elements are initialized.
        unsafe { slice::from_raw_parts(self.start(), self.length) }
    }
}

impl<T> DerefMut for FixedVec<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: the first `length` elements are initialized, and only values of `T` are written
        // to them.
        unsafe { slice::from_raw_parts_mut(self.start(), self.length) }
    }
}

impl<'s, T: Copy> IntoIterator for FixedVec<'s, T> {
    type Item = T;
    type IntoIter = Copied<slice::Iter<'s, T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.into_slice().iter().copied()
    }
}

impl<'a, T> IntoIterator for &'a FixedVec<'_, T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    fn into_iter(self) -> slice::Iter<'a, T> {
        self.iter()
    }
}

impl<'a, T> IntoIterator for &'a mut FixedVec<'_, T> {
    type Item = &'a mut T;
    type IntoIter = slice::IterMut<'a, T>;

    fn into_iter(self) -> slice::IterMut<'a, T> {
        self.iter_mut()
    }
}

impl<T: fmt::Debug> fmt::Debug for FixedVec<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}
