//! Defines a growable vector that is stored in a scope's memory. When the vector grows, it remains
//! in its slot and swaps the slot's block for a larger one.

use core::fmt;
use core::iter::Copied;
use core::ops::{Deref, DerefMut, RangeBounds};
use core::slice;

use super::fixed_vec::FixedVec;
use super::plain::is_known_plain;
use crate::backend::{ArrayMemory, HostBackend, Memory, ScopeCursor, VectorMemory};
use crate::element::HostElement;
use crate::error::{PoolError, panic_with};
use crate::scope::Scope;

/// A growable vector that is stored in a pool's memory.
///
/// [`Scope::acquire_vec`] creates a `PoolVec`. The vector uses one slot, no matter how often it
/// grows.
///
/// If the slot's block is too small, the vector acquires the next idle slot's block. If necessary,
/// the next slot's block first grows to at least twice the vector's capacity. The vector copies its
/// elements to the larger block and leaves the old block in the idle slot for later use. In the
/// next pass through the scope, the vector's slot holds the large block from the start, so nothing
/// is copied or allocated.
///
/// The vector borrows its scope. While the vector borrows the scope, the scope can acquire arrays
/// but not open an inner scope. The compiler reports "cannot borrow `scope` as mutable because it
/// is also borrowed as immutable". If you need an inner scope, use a [`FixedVec`] from
/// [`acquire_fixed_vec`](Scope::acquire_fixed_vec).
///
/// ```
/// # use pool_conformance::HeapBackend as Memory;
/// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
/// let graph: [&[usize]; 4] = [&[1, 2], &[3], &[3], &[]];
/// let scope = pool.scope();
/// let seen = scope.acquire_zeroed::<bool, _>(graph.len());
/// let mut stack = scope.acquire_vec(0);
/// let mut order = scope.acquire_vec(0);
/// stack.push((0, "root"));
/// while let Some((node, how)) = stack.pop() {
///     if !std::mem::replace(&mut seen[node], true) {
///         order.push((node, how));
///         stack.extend(graph[node].iter().map(|&next| (next, "edge")));
///     }
/// }
/// assert_eq!(order.into_slice(), [(0, "root"), (2, "edge"), (3, "edge"), (1, "edge")]);
/// ```
pub struct PoolVec<'a, 's, B: HostBackend, T> {
    scope: &'a Scope<'s, B>,
    /// The slot that was acquired for the vector. This slot's block stores the elements.
    memory: Memory<'s, B>,
    /// The vector's elements, which are stored at the start of the slot's block.
    elements: FixedVec<'s, T>,
}

impl<'s, B: HostBackend> Scope<'s, B> {
    /// Acquires an empty growable vector of any [`Copy`] type, with an initial capacity of
    /// `capacity` elements. This method has the same cost as [`acquire_with`](Self::acquire_with).
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_acquire_vec`](Self::try_acquire_vec) would return.
    #[inline]
    #[track_caller]
    pub fn acquire_vec<T: HostElement + 's>(&self, capacity: usize) -> PoolVec<'_, 's, B, T> {
        self.cursor.note_caller();
        self.try_acquire_vec(capacity).unwrap_or_else(|error| panic_with(&error))
    }

    /// The fallible version of [`acquire_vec`](Self::acquire_vec).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`try_acquire`](Self::try_acquire).
    pub fn try_acquire_vec<T: HostElement + 's>(
        &self,
        capacity: usize,
    ) -> Result<PoolVec<'_, 's, B, T>, PoolError<B::Error>> {
        // SAFETY: a vector writes only values of `T`.
        let memory = unsafe { self.take_unwritten::<T>(capacity, is_known_plain::<T>()) }?;
        // SAFETY: the slot was acquired for `capacity` elements, and `room` is the first view of
        // the slot.
        let room =
            unsafe { memory.host_slice(if size_of::<T>() == 0 { usize::MAX } else { capacity }) };
        // SAFETY: the length is 0, so no element needs to be initialized. `take_unwritten` has
        // already marked the slot, unless `T` is plain.
        let elements = unsafe { FixedVec::new(room, 0) };
        Ok(PoolVec { scope: self, memory, elements })
    }
}

impl<'s, B: HostBackend, T: Copy + 's> PoolVec<'_, 's, B, T> {
    /// Returns the number of elements that the vector can hold without growing.
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.elements.capacity()
    }

    /// Appends an element. If the vector is full, it grows first.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_push`](Self::try_push) would return.
    #[inline]
    #[track_caller]
    pub fn push(&mut self, element: T) {
        self.try_push(element).unwrap_or_else(|error| panic_with(&error));
    }

    /// The fallible version of [`push`](Self::push).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Scope::try_acquire`]. If an error is returned, the vector is
    /// unchanged.
    #[inline]
    pub fn try_push(&mut self, element: T) -> Result<(), PoolError<B::Error>> {
        if self.elements.push(element).is_err() {
            self.grow(1)?;
            // This push cannot fail, because `grow` has added capacity for one element.
            _ = self.elements.push(element);
        }
        Ok(())
    }

    /// Appends a copy of `elements`.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_extend_from_slice`](Self::try_extend_from_slice) would
    /// return.
    #[track_caller]
    pub fn extend_from_slice(&mut self, elements: &[T]) {
        self.try_extend_from_slice(elements).unwrap_or_else(|error| panic_with(&error));
    }

    /// The fallible version of [`extend_from_slice`](Self::extend_from_slice).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Scope::try_acquire`]. If an error is returned, the vector is
    /// unchanged.
    pub fn try_extend_from_slice(&mut self, elements: &[T]) -> Result<(), PoolError<B::Error>> {
        self.try_reserve(elements.len())?;
        // This call cannot fail, because the capacity is now sufficient for all elements.
        _ = self.elements.extend_from_slice(elements);
        Ok(())
    }

    /// Appends all elements of an iterator, which may itself acquire arrays from the same scope.
    /// The iterator's size hint does not need to be correct.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Scope::try_acquire`]. The vector retains the elements that were
    /// appended before the error.
    pub fn try_extend(
        &mut self,
        elements: impl IntoIterator<Item = T>,
    ) -> Result<(), PoolError<B::Error>> {
        elements.into_iter().try_for_each(|element| self.try_push(element))
    }

    /// Reserves capacity for at least `additional` more elements.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_reserve`](Self::try_reserve) would return.
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        self.try_reserve(additional).unwrap_or_else(|error| panic_with(&error));
    }

    /// The fallible version of [`reserve`](Self::reserve).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Scope::try_acquire`]. If an error is returned, the vector is
    /// unchanged.
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), PoolError<B::Error>> {
        if additional > self.capacity() - self.len() { self.grow(additional) } else { Ok(()) }
    }

    /// Removes the last element and returns it.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.elements.pop()
    }

    /// Removes the element at `index` and moves the last element to its position. Returns `None` if
    /// no element has this index.
    pub fn swap_remove(&mut self, index: usize) -> Option<T> {
        self.elements.swap_remove(index)
    }

    /// Inserts an element at `index` and moves the later elements up by one position.
    ///
    /// # Panics
    ///
    /// Panics if `index` is greater than the length. The method also panics with the error that
    /// [`try_insert`](Self::try_insert) would return.
    #[track_caller]
    pub fn insert(&mut self, index: usize, element: T) {
        self.try_insert(index, element).unwrap_or_else(|error| panic_with(&error));
    }

    /// The fallible version of [`insert`](Self::insert).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Scope::try_acquire`]. If an error is returned, the vector is
    /// unchanged.
    ///
    /// # Panics
    ///
    /// Panics if `index` is greater than the length.
    #[track_caller]
    pub fn try_insert(&mut self, index: usize, element: T) -> Result<(), PoolError<B::Error>> {
        self.try_reserve(1)?;
        // This call cannot fail, because the capacity is now sufficient for one more element.
        _ = self.elements.insert(index, element);
        Ok(())
    }

    /// Removes the element at `index` and moves the later elements down by one position. Returns
    /// `None` if no element has this index.
    pub fn remove(&mut self, index: usize) -> Option<T> {
        self.elements.remove(index)
    }

    /// Removes the elements of a range and moves the later elements down. The elements are removed
    /// even if the returned iterator is not used.
    ///
    /// # Panics
    ///
    /// Panics if the range is not within the vector.
    #[track_caller]
    pub fn drain(&mut self, range: impl RangeBounds<usize>) -> Copied<slice::Iter<'_, T>> {
        self.elements.drain(range)
    }

    /// Changes the number of elements to `length`. The method either appends copies of `element` or
    /// removes elements from the end.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_resize`](Self::try_resize) would return.
    #[track_caller]
    pub fn resize(&mut self, length: usize, element: T) {
        self.try_resize(length, element).unwrap_or_else(|error| panic_with(&error));
    }

    /// The fallible version of [`resize`](Self::resize).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Scope::try_acquire`]. If an error is returned, the vector is
    /// unchanged.
    pub fn try_resize(&mut self, length: usize, element: T) -> Result<(), PoolError<B::Error>> {
        self.try_reserve(length.saturating_sub(self.len()))?;
        // This call cannot fail, because the capacity is now at least `length`.
        _ = self.elements.resize(length, element);
        Ok(())
    }

    /// Appends the elements of another vector and leaves that vector empty.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_append`](Self::try_append) would return.
    #[track_caller]
    pub fn append(&mut self, other: &mut PoolVec<'_, '_, B, T>) {
        self.try_append(other).unwrap_or_else(|error| panic_with(&error));
    }

    /// The fallible version of [`append`](Self::append).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Scope::try_acquire`]. If an error is returned, both vectors are
    /// unchanged.
    pub fn try_append(
        &mut self,
        other: &mut PoolVec<'_, '_, B, T>,
    ) -> Result<(), PoolError<B::Error>> {
        self.try_extend_from_slice(other)?;
        other.elements.clear();
        Ok(())
    }

    /// Removes each element that is equal to the element before it.
    pub fn dedup(&mut self)
    where
        T: PartialEq,
    {
        self.elements.dedup();
    }

    /// Shortens the vector to its first `length` elements. If the vector contains at most `length`
    /// elements, the method removes nothing.
    #[inline]
    pub fn truncate(&mut self, length: usize) {
        self.elements.truncate(length);
    }

    /// Removes all elements but retains the vector's capacity.
    #[inline]
    pub fn clear(&mut self) {
        self.elements.clear();
    }

    /// Removes all elements that `keep` rejects and preserves the order of the others. If `keep`
    /// panics, the vector's length does not change, but the vector contains an unspecified
    /// selection of its former elements.
    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.elements.retain(keep);
    }

    /// Converts the vector into a slice of its elements. The slice remains valid for as long as the
    /// scope's views do. In a stack, the unused capacity returns to the pool, unless something has
    /// been acquired since the vector last grew.
    #[inline]
    #[must_use]
    pub fn into_slice(self) -> &'s mut [T] {
        let (memory, capacity, length) = (self.memory, self.capacity(), self.elements.length());
        let vector = VectorMemory { memory, capacity, length, plain: is_known_plain::<T>() };
        let elements = self.elements.into_slice();
        // SAFETY: the scope's cursor has moved past the memory. The vector is consumed, and the
        // returned slice covers only the first `length` elements of the memory. The vector borrows
        // the scope, so no inner scope is open.
        unsafe { self.scope.cursor.shrink::<T>(vector) };
        elements
    }

    /// Returns the scope from which the vector was acquired.
    pub(super) fn scope(&self) -> &Scope<'s, B> {
        self.scope
    }

    /// Returns the vector's memory.
    pub(super) fn memory(&self) -> Memory<'s, B> {
        self.memory
    }

    /// Adds capacity for at least `additional` more elements. If enough memory is available, the
    /// capacity at least doubles.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, additional: usize) -> Result<(), PoolError<B::Error>> {
        let length = self.elements.length();
        let Some(needed) = length.checked_add(additional) else {
            let element_size = size_of::<T>();
            return Err(PoolError::SizeOverflow { elements: usize::MAX, element_size });
        };
        let (memory, capacity) = (self.memory, self.capacity());
        let vector = VectorMemory { memory, capacity, length, plain: is_known_plain::<T>() };
        // SAFETY: the scope's cursor has moved past the memory. Only this vector has a view of the
        // memory, and the code below replaces that view.
        let grown = unsafe { self.scope.cursor.enlarge::<T>(vector, needed) }?;
        self.memory = grown.memory;
        // SAFETY: the memory has room for `grown.capacity` elements and stays valid for as long as
        // the scope's views are usable.
        let room = unsafe { self.memory.host_slice(grown.capacity) };
        // SAFETY: the first `length` elements are initialized, even if they have moved.
        self.elements = unsafe { FixedVec::new(room, length) };
        Ok(())
    }
}

/// # Panics
///
/// Panics with the same errors as [`PoolVec::push`].
impl<'s, B: HostBackend, T: Copy + 's> Extend<T> for PoolVec<'_, 's, B, T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        self.try_extend(elements).unwrap_or_else(|error| panic_with(&error));
    }
}

/// # Panics
///
/// Panics with the same errors as [`PoolVec::push`].
impl<'s, 'e, B: HostBackend, T: Copy + 's + 'e> Extend<&'e T> for PoolVec<'_, 's, B, T> {
    fn extend<I: IntoIterator<Item = &'e T>>(&mut self, elements: I) {
        self.extend(elements.into_iter().copied());
    }
}

impl<'s, B: HostBackend, T: Copy + 's> IntoIterator for PoolVec<'_, 's, B, T> {
    type Item = T;
    type IntoIter = Copied<slice::Iter<'s, T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.elements.into_iter()
    }
}

impl<B: HostBackend, T> Deref for PoolVec<'_, '_, B, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.elements
    }
}

impl<B: HostBackend, T> DerefMut for PoolVec<'_, '_, B, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.elements
    }
}

impl<'a, B: HostBackend, T> IntoIterator for &'a PoolVec<'_, '_, B, T> {
    type Item = &'a T;
    type IntoIter = slice::Iter<'a, T>;

    fn into_iter(self) -> slice::Iter<'a, T> {
        self.iter()
    }
}

impl<'a, B: HostBackend, T> IntoIterator for &'a mut PoolVec<'_, '_, B, T> {
    type Item = &'a mut T;
    type IntoIter = slice::IterMut<'a, T>;

    fn into_iter(self) -> slice::IterMut<'a, T> {
        self.iter_mut()
    }
}

impl<B: HostBackend, T: fmt::Debug> fmt::Debug for PoolVec<'_, '_, B, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.elements.fmt(f)
    }
}
