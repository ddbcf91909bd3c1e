//! A vector in a scope that grows: it stays in its slot, whose block it exchanges for a larger one.

use core::fmt;
use core::ops::{Deref, DerefMut};
use core::{ptr, slice};

use super::fixed_vec::FixedVec;
use super::plain::is_known_plain;
use crate::backend::HostBackend;
use crate::element::HostElement;
use crate::error::PoolError;
use crate::raw::{Cursor, FirstUse, SlotPointer};
use crate::scope::Scope;

/// The smallest capacity that a vector grows to.
const LEAST: usize = 4;

/// A vector that grows as it is filled, in the memory of a pool.
///
/// Made by [`Scope::acquire_vec`]. A vector takes one slot, however often it grows. Where the slot's block is too
/// small, the vector takes that of the next idle slot, grown to at least twice the capacity, copies its elements
/// there, and leaves its old block to the idle slot: so what comes after the vector finds the old memory, and the
/// vector's slot has the large block from the start when the scope is next run through. Then nothing is copied or
/// allocated.
///
/// It borrows its scope, which may go on acquiring, but not open an inner scope ("cannot borrow `scope` as mutable because
/// it is also borrowed as immutable"); where that is needed, use a [`FixedVec`], by
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
    /// The slot that was taken for the vector, in whose block its elements are.
    slot: SlotPointer<'s, B>,
    /// The elements, and as much of the block as is marked for them.
    elements: FixedVec<'s, T>,
}

impl<'s, B: HostBackend> Scope<'s, B> {
    /// An empty vector that grows, of any type that is [`Copy`], with room for `capacity` elements to begin with.
    /// It costs what [`acquire_with`](Self::acquire_with) says.
    ///
    /// # Panics
    ///
    /// With the text of the error that [`try_acquire_vec`](Self::try_acquire_vec) returns.
    #[inline]
    #[track_caller]
    pub fn acquire_vec<T: HostElement + 's>(&self, capacity: usize) -> PoolVec<'_, 's, B, T> {
        self.cursor.note_caller();
        self.try_acquire_vec(capacity).unwrap_or_else(|error| Cursor::<B>::fail(&error))
    }

    /// As [`acquire_vec`](Self::acquire_vec).
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire).
    pub fn try_acquire_vec<T: HostElement + 's>(
        &self,
        capacity: usize,
    ) -> Result<PoolVec<'_, 's, B, T>, PoolError<B::Error>> {
        // SAFETY: a vector writes values of `T` alone.
        let slot = unsafe { self.take_unwritten::<T>(capacity, is_known_plain::<T>()) }?;
        // SAFETY: taken for as many elements, and this is the slot's first view.
        let room =
            unsafe { slot.host_slice(if size_of::<T>() == 0 { usize::MAX } else { capacity }) };
        // SAFETY: no element is said to be initialised; marked by `take_unwritten`.
        let elements = unsafe { FixedVec::new(room, 0) };
        Ok(PoolVec { scope: self, slot, elements })
    }
}

impl<'s, B: HostBackend, T: Copy + 's> PoolVec<'_, 's, B, T> {
    /// How many elements fit before the vector grows again.
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.elements.capacity()
    }

    /// Appends an element; grows where there is no room for it.
    ///
    /// # Panics
    ///
    /// With the text of the error that [`try_push`](Self::try_push) returns.
    #[inline]
    #[track_caller]
    pub fn push(&mut self, element: T) {
        self.try_push(element).unwrap_or_else(|error| Cursor::<B>::fail(&error));
    }

    /// As [`push`](Self::push).
    ///
    /// # Errors
    ///
    /// As [`Scope::try_acquire`]; the vector is then as it was.
    #[inline]
    pub fn try_push(&mut self, element: T) -> Result<(), PoolError<B::Error>> {
        if self.elements.push(element).is_err() {
            self.grow(1)?;
            // There is room now.
            _ = self.elements.push(element);
        }
        Ok(())
    }

    /// Appends a copy of `elements`.
    ///
    /// # Panics
    ///
    /// With the text of the error that [`try_extend_from_slice`](Self::try_extend_from_slice) returns.
    #[track_caller]
    pub fn extend_from_slice(&mut self, elements: &[T]) {
        self.try_extend_from_slice(elements).unwrap_or_else(|error| Cursor::<B>::fail(&error));
    }

    /// As [`extend_from_slice`](Self::extend_from_slice).
    ///
    /// # Errors
    ///
    /// As [`Scope::try_acquire`]; the vector is then as it was.
    pub fn try_extend_from_slice(&mut self, elements: &[T]) -> Result<(), PoolError<B::Error>> {
        self.try_reserve(elements.len())?;
        // There is room now.
        _ = self.elements.extend_from_slice(elements);
        Ok(())
    }

    /// Appends every element of `elements`, which may acquire from the same scope. What an iterator says of its
    /// length is not relied on.
    ///
    /// # Errors
    ///
    /// As [`Scope::try_acquire`]; elements that came before stay.
    pub fn try_extend(
        &mut self,
        elements: impl IntoIterator<Item = T>,
    ) -> Result<(), PoolError<B::Error>> {
        elements.into_iter().try_for_each(|element| self.try_push(element))
    }

    /// Makes room for `additional` more elements.
    ///
    /// # Panics
    ///
    /// With the text of the error that [`try_reserve`](Self::try_reserve) returns.
    #[track_caller]
    pub fn reserve(&mut self, additional: usize) {
        self.try_reserve(additional).unwrap_or_else(|error| Cursor::<B>::fail(&error));
    }

    /// As [`reserve`](Self::reserve).
    ///
    /// # Errors
    ///
    /// As [`Scope::try_acquire`]; the vector is then as it was.
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), PoolError<B::Error>> {
        if additional > self.capacity() - self.len() { self.grow(additional) } else { Ok(()) }
    }

    /// Takes the last element.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        self.elements.pop()
    }

    /// Takes the element at `index`, whose place the last element takes; `None` where there is no such element.
    pub fn swap_remove(&mut self, index: usize) -> Option<T> {
        self.elements.swap_remove(index)
    }

    /// Keeps the first `length` elements, or all where there are fewer.
    #[inline]
    pub fn truncate(&mut self, length: usize) {
        self.elements.truncate(length);
    }

    /// Forgets every element; the room stays.
    #[inline]
    pub fn clear(&mut self) {
        self.elements.clear();
    }

    /// Keeps the elements for which `keep` answers true, in order. Where `keep` panics, the vector keeps its length,
    /// and its elements are any of those that it had.
    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.elements.retain(keep);
    }

    /// The elements, for as long as the scope's views live.
    #[inline]
    #[must_use]
    pub fn into_slice(self) -> &'s mut [T] {
        self.elements.into_slice()
    }

    /// The scope that the vector was acquired from.
    pub(super) fn scope(&self) -> &Scope<'s, B> {
        self.scope
    }

    /// The vector's slot.
    pub(super) fn slot(&self) -> SlotPointer<'s, B> {
        self.slot
    }

    /// Makes room for `additional` more elements, and for twice the elements that there are where memory allows it: in
    /// the slot's own block, or else in the next slot's.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, additional: usize) -> Result<(), PoolError<B::Error>> {
        let overflow =
            PoolError::SizeOverflow { elements: usize::MAX, element_size: size_of::<T>() };
        let Some(needed) = self.elements.length().checked_add(additional) else {
            return Err(overflow);
        };
        let wanted = needed.max(self.elements.length().saturating_mul(2)).max(LEAST);
        if self.capacity() == 0 {
            self.hand_out(wanted).or_else(|error| retry(error, || self.hand_out(needed)))?;
        } else if self.slot.capacity::<T>() < needed {
            let taken = self.take_next_block(wanted);
            taken.or_else(|error| retry(error, || self.take_next_block(needed)))?;
        }
        self.use_block(wanted.min(self.slot.capacity::<T>()));
        Ok(())
    }

    /// Hands out the slot's block for `capacity` elements: the first use of a vector without capacity, whose slot was
    /// taken without its block.
    fn hand_out(&self, capacity: usize) -> Result<(), PoolError<B::Error>> {
        // SAFETY: the scope's cursor has stepped past the vector's slot, and the vector, which alone has a view of it,
        // has no byte of the block.
        unsafe { self.scope.cursor.hand_out_taken::<T>(self.slot, capacity) }
    }

    /// Takes the block of the next slot, which holds `capacity` elements; the old block is then the next slot's, and
    /// has the elements until the new one is used (`use_block`).
    fn take_next_block(&self, capacity: usize) -> Result<(), PoolError<B::Error>> {
        // The block that the elements are in is below the cursor: it is neither freed nor handed out here.
        // SAFETY: the pool lives for `'s`.
        let next = unsafe { self.scope.cursor.try_reserve::<T>(capacity, FirstUse::Write) }?;
        // SAFETY: both are slots of the scope's pool; this vector alone has a view of its slot, which it takes anew
        // from the block (`use_block`) before anything else runs, and the next slot is idle. A host's vector keeps
        // no reference to its slot but this one, and no scope has handles.
        unsafe { self.slot.exchange_blocks(next) };
        Ok(())
    }

    /// Uses so much of the slot's block as `capacity` elements need, which are no fewer than there are. Where the
    /// block was just taken, the elements are copied to it.
    fn use_block(&mut self, capacity: usize) {
        let length = self.elements.length();
        let bytes = capacity * size_of::<T>();
        if !is_known_plain::<T>() {
            // SAFETY: the slot's block holds as many elements (`grow`), and the slot is this vector's.
            unsafe { self.slot.mark(bytes) };
        }
        self.slot.note_used(self.scope.cursor.active(), bytes);
        let (from, to) = (self.elements.as_ptr(), self.slot.start::<T>());
        if !ptr::eq(from, to) {
            // SAFETY: the elements are in another block of the pool, unchanged since it was the
            // slot's; the slot's block holds as many, and nothing views it; `T` is `Copy`.
            unsafe { to.copy_from_nonoverlapping(from, length) };
        }
        // SAFETY: the block holds as many elements, for as long as the scope's views live, and the old view of it,
        // or of the block before, is replaced here.
        let room = unsafe { self.slot.host_slice(capacity) };
        // SAFETY: as many elements are initialised: in this block before, or copied to it.
        self.elements = unsafe { FixedVec::new(room, length) };
    }
}

/// Asks for less memory after an error that says that there is too little of it.
fn retry<E>(
    error: PoolError<E>,
    again: impl FnOnce() -> Result<(), PoolError<E>>,
) -> Result<(), PoolError<E>> {
    match error {
        PoolError::SizeOverflow { .. }
        | PoolError::LimitExceeded { .. }
        | PoolError::OutOfMemory { .. } => again(),
        other => Err(other),
    }
}

/// # Panics
///
/// As [`PoolVec::push`].
impl<'s, B: HostBackend, T: Copy + 's> Extend<T> for PoolVec<'_, 's, B, T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        self.try_extend(elements).unwrap_or_else(|error| Cursor::<B>::fail(&error));
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
