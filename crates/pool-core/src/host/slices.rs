//! Implements arrays of any `T: Copy` whose elements are written before they are read.

use super::HostAcquireResult;
use super::plain::is_known_plain;
use crate::backend::{ArrayMemory, FirstUse, HostBackend, Memory, ScopeCursor};
use crate::element::HostElement;
use crate::engine::FromParts;
use crate::error::{PoolError, panic_with};
use crate::scope::Scope;
use crate::shape::FixedShape;

impl<'s, B: HostBackend> Scope<'s, B> {
    /// Acquires an array whose elements are computed by calling `element(index)` in row-major
    /// order. The only requirement on the element type is [`Copy`], so elements may contain
    /// padding, pointers, and references that outlive the scope.
    ///
    /// The index is a `usize` if the shape is a length, and a `[usize; N]` if the shape has N axes.
    ///
    /// The `element` closure may acquire arrays from this scope, and those arrays remain acquired
    /// until the scope ends. If `element` panics, the slot that contains the elements also remains
    /// acquired.
    ///
    /// ```
    /// # use pool_conformance::HeapBackend as Memory;
    /// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
    /// let names = ["Ada", "Grace"];
    /// let scope = pool.scope();
    /// let numbered = scope.acquire_with(2, |i| (i, names[i]));
    /// numbered.reverse();
    /// assert_eq!(numbered, [(1, "Grace"), (0, "Ada")]);
    /// let pairs = scope.acquire_with([2, 3], |[row, column]| (row, column));
    /// assert_eq!(pairs[[1, 2]], (1, 2));
    /// ```
    ///
    /// # Repeating and copying values
    ///
    /// To fill the array with one value, pass a closure that ignores the index. To copy a slice of
    /// the same length, pass a closure that indexes the slice. Both kinds of closure compile to a
    /// loop without bounds checks. For plain data, [`acquire_filled`](Self::acquire_filled) and
    /// [`acquire_from`](Self::acquire_from) each behave identically on every backend.
    ///
    /// ```
    /// # use pool_conformance::HeapBackend as Memory;
    /// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
    /// /// Generic over any `T: Copy`, as a caller's code may be.
    /// fn median<T: Copy + Ord>(scope: &pool_core::Scope<'_, Memory>, values: &[T]) -> Option<T> {
    ///     let sorted = scope.acquire_with(values.len(), |i| values[i]);
    ///     sorted.sort();
    ///     sorted.get(sorted.len() / 2).copied()
    /// }
    /// let scope = pool.scope();
    /// assert_eq!(median(&scope, &[(3, 'c'), (1, 'a'), (2, 'b')]), Some((2, 'b')));
    /// let best: &mut [Option<(usize, f32)>] = scope.acquire_with(3, |_| None);
    /// best[1] = Some((7, 0.5));
    /// assert_eq!(best, [None, Some((7, 0.5)), None]);
    /// ```
    ///
    /// # Cost
    ///
    /// For plain data, this method costs as much as [`acquire`](Self::acquire) plus the writes. A
    /// type is plain data if it implements [`bytemuck::NoUninit`]. Examples include numbers,
    /// `bool`, `char`, arrays of numbers, and your own types that derive the trait.
    ///
    /// Values of any other type might contain padding, so the slot is *marked* as possibly
    /// uninitialized. Every method that acquires a marked slot calls the cold function. The next
    /// method that hands out this memory without writing to it (such as [`acquire`](Self::acquire))
    /// first zeroes the marked bytes and then removes the mark.
    ///
    /// ```
    /// # use pool_conformance::HeapBackend as Memory;
    /// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
    /// #[derive(Clone, Copy, bytemuck::NoUninit)]
    /// #[repr(C)]
    /// struct Particle {
    ///     mass: f32,
    ///     kind: u32,
    /// }
    /// pool.scope().acquire_with(8, |i| Particle { mass: 0.5, kind: i as u32 });
    /// assert_eq!(pool.scope().acquire::<f32, _>(1), [0.5]); // not zeroed: the slot is not marked
    /// ```
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_acquire_with`](Self::try_acquire_with) would return.
    #[inline]
    #[track_caller]
    pub fn acquire_with<T: HostElement + 's, S: FixedShape>(
        &self,
        shape: S,
        element: impl FnMut(S::Index) -> T,
    ) -> S::Array<'s, &'s mut [T]> {
        self.cursor.note_caller();
        self.try_acquire_with(shape, element).unwrap_or_else(|error| panic_with(&error))
    }

    /// The fallible version of [`acquire_with`](Self::acquire_with).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`try_acquire`](Self::try_acquire). If an error is returned,
    /// `element` is not called.
    #[inline]
    pub fn try_acquire_with<T: HostElement + 's, S: FixedShape>(
        &self,
        shape: S,
        element: impl FnMut(S::Index) -> T,
    ) -> HostAcquireResult<'s, B, T, S> {
        let length = shape.count::<T>()?;
        // SAFETY: only values of `T` are written to the slot.
        let slot = unsafe { self.take_unwritten::<T>(length, is_known_plain::<T>()) }?;
        // SAFETY: the slot was acquired for `length` elements, and no view of it exists.
        unsafe { slot.write_with(length, shape.in_order(element)) };
        // SAFETY: the slot was acquired for `length` elements, all elements have been written, and
        // `elements` is the slot's first view.
        let elements: &'s mut [T] = unsafe { slot.host_slice(length) };
        // SAFETY: the slice and the shape have the same number of elements.
        Ok(unsafe { FromParts::from_parts(elements, shape.kept()) })
    }

    /// Acquires a slot for `length` elements of `T` that have not yet been written. The method
    /// marks the slot unless `plain` is `true`.
    ///
    /// # Safety
    ///
    /// If `plain` is `true`, only values without uninitialized bytes may be written to the slot.
    #[inline(always)]
    pub(super) unsafe fn take_unwritten<T>(
        &self,
        length: usize,
        plain: bool,
    ) -> Result<Memory<'s, B>, PoolError<B::Error>> {
        // SAFETY: the pool outlives `'s`.
        let slot = unsafe { self.cursor.try_reserve::<T>(length, FirstUse::Write) }?;
        // SAFETY: the slot was just reserved through this cursor.
        unsafe { self.cursor.step(slot) };
        if !plain {
            // SAFETY: the slot was reserved for `length` elements, the cursor has moved past it,
            // and the scope is open.
            unsafe { slot.mark::<T>(length) };
        }
        Ok(slot)
    }
}
