//! Implements arrays of `MaybeUninit<T>` for code that initializes the elements itself.

use core::mem::MaybeUninit;

use super::HostAcquireResult;
use crate::backend::{ArrayMemory, HostBackend, ScopeCursor};
use crate::element::HostElement;
use crate::engine::FromParts;
use crate::error::panic_with;
use crate::scope::Scope;
use crate::shape::FixedShape;

impl<'s, B: HostBackend> Scope<'s, B> {
    /// Acquires an array of uninitialized elements of any [`Copy`] type.
    ///
    /// The slot is marked even if the elements are numbers, because a `MaybeUninit` might be left
    /// uninitialized. The *Cost* section of [`acquire_with`](Self::acquire_with) explains marked
    /// slots.
    ///
    /// ```
    /// # use pool_conformance::HeapBackend as Memory;
    /// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
    /// let scope = pool.scope();
    /// let room = scope.acquire_uninit::<(u8, f64), _>(3);
    /// let first = room[0].write((1, 0.5));
    /// first.1 += 1.0;
    /// assert_eq!(*first, (1, 1.5));
    /// let mut matrix = scope.acquire_uninit::<f32, _>([2, 3]);
    /// assert_eq!(*matrix[[1, 2]].write(0.5), 0.5);
    /// ```
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_acquire_uninit`](Self::try_acquire_uninit) would return.
    #[inline]
    #[track_caller]
    pub fn acquire_uninit<T: HostElement + 's, S: FixedShape>(
        &self,
        shape: S,
    ) -> S::Array<'s, &'s mut [MaybeUninit<T>]> {
        self.cursor.note_caller();
        self.try_acquire_uninit(shape).unwrap_or_else(|error| panic_with(&error))
    }

    /// The fallible version of [`acquire_uninit`](Self::acquire_uninit).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`try_acquire`](Self::try_acquire).
    #[inline]
    pub fn try_acquire_uninit<T: HostElement + 's, S: FixedShape>(
        &self,
        shape: S,
    ) -> HostAcquireResult<'s, B, MaybeUninit<T>, S> {
        let length = shape.count::<T>()?;
        // SAFETY: the `plain` argument is `false`, so values of any type may be written to the
        // slot.
        let slot = unsafe { self.take_unwritten::<T>(length, false) }?;
        // SAFETY: the slot was acquired for `length` elements with the size and alignment of `T`. A
        // `MaybeUninit` may contain any bytes, and `room` is the slot's first view.
        let room: &'s mut [MaybeUninit<T>] = unsafe { slot.host_slice(length) };
        // SAFETY: the slice and the shape have the same number of elements.
        Ok(unsafe { FromParts::from_parts(room, shape.kept()) })
    }
}
