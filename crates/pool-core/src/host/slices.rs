//! Slices of any `T: Copy` that are written before they are read: made element by element, copied, repeated.

use core::ptr;

use super::HostAcquireResult;
use super::plain::is_known_plain;
use crate::backend::HostBackend;
use crate::element::HostElement;
use crate::error::PoolError;
use crate::raw::{Cursor, FirstUse, SlotPointer};
use crate::scope::Scope;

impl<'s, B: HostBackend> Scope<'s, B> {
    /// `length` elements, each made by `element(index)`. The type of the elements need only be [`Copy`], and may
    /// have padding, pointers, and references that outlive the scope.
    ///
    /// `element` may acquire from this scope; what `element` acquires stays taken until the scope ends. Where
    /// `element` panics, the slot of the elements stays taken as well.
    ///
    /// ```
    /// # use pool_conformance::HeapBackend as Memory;
    /// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
    /// let names = ["Ada", "Grace"];
    /// let scope = pool.scope();
    /// let numbered = scope.acquire_with(2, |i| (i, names[i]));
    /// numbered.reverse();
    /// assert_eq!(numbered, [(1, "Grace"), (0, "Ada")]);
    /// ```
    ///
    /// # Cost
    ///
    /// Numbers, `bool`, `char`, and points and colours (`[f32; 2]` to `[f64; 4]`, `[u8; 3]`, `[u8; 4]`) cost what
    /// [`acquire`](Self::acquire) does, and the writing. Every other type may have padding, which recycled memory must
    /// not: so its slot is *marked*. A marked slot takes the cold
    /// path of every acquire, and the acquire that is next given its memory unwritten
    /// ([`acquire`](Self::acquire) and its kin) zeroes first what was marked, and takes the mark off. Plain data of your
    /// own marks nothing where [`acquire_from`](Self::acquire_from) copies it, or where you write what
    /// [`acquire`](Self::acquire) hands out.
    ///
    /// # Panics
    ///
    /// With the text of the error that [`try_acquire_with`](Self::try_acquire_with) returns.
    #[inline]
    #[track_caller]
    pub fn acquire_with<T: HostElement + 's>(
        &self,
        length: usize,
        element: impl FnMut(usize) -> T,
    ) -> &'s mut [T] {
        self.try_acquire_with(length, element).unwrap_or_else(|error| Cursor::<B>::fail(&error))
    }

    /// As [`acquire_with`](Self::acquire_with).
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire); `element` is then not called.
    #[inline]
    pub fn try_acquire_with<T: HostElement + 's>(
        &self,
        length: usize,
        element: impl FnMut(usize) -> T,
    ) -> HostAcquireResult<'s, B, T> {
        // SAFETY: taken for `length` elements, and nothing views the slot (`acquire_written`).
        let write = |slot: SlotPointer<'s, B>| unsafe { slot.write_with(length, element) };
        // SAFETY: all `length` elements are written.
        unsafe { self.acquire_written(length, write) }
    }

    /// A copy of `source`, of any type that is [`Copy`]. It costs what [`acquire_with`](Self::acquire_with) says;
    /// [`acquire_from`](Self::acquire_from) is its twin for every backend, and for plain data alone.
    ///
    /// ```
    /// # use pool_conformance::HeapBackend as Memory;
    /// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
    /// /// Generic over any `T: Copy`, as the caller's code is.
    /// fn median<T: Copy + Ord>(scope: &pool_core::Scope<'_, Memory>, values: &[T]) -> Option<T> {
    ///     let sorted = scope.acquire_copy(values);
    ///     sorted.sort();
    ///     sorted.get(sorted.len() / 2).copied()
    /// }
    /// let scope = pool.scope();
    /// assert_eq!(median(&scope, &[(3, 'c'), (1, 'a'), (2, 'b')]), Some((2, 'b')));
    /// ```
    ///
    /// # Panics
    ///
    /// With the text of the error that [`try_acquire_copy`](Self::try_acquire_copy) returns.
    #[inline]
    #[track_caller]
    pub fn acquire_copy<T: HostElement + 's>(&self, source: &[T]) -> &'s mut [T] {
        self.try_acquire_copy(source).unwrap_or_else(|error| Cursor::<B>::fail(&error))
    }

    /// As [`acquire_copy`](Self::acquire_copy).
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire).
    #[inline]
    pub fn try_acquire_copy<T: HostElement + 's>(
        &self,
        source: &[T],
    ) -> HostAcquireResult<'s, B, T> {
        let copy = |slot: SlotPointer<'s, B>| {
            // SAFETY: taken for as many elements (`acquire_written`); a live slice is no part of a block that
            // nothing views; `T` is `Copy`.
            unsafe { ptr::copy_nonoverlapping(source.as_ptr(), slot.start(), source.len()) };
        };
        // SAFETY: all elements are written.
        unsafe { self.acquire_written(source.len(), copy) }
    }

    /// `length` elements that all are `value`, of any type that is [`Copy`]. It costs what
    /// [`acquire_with`](Self::acquire_with) says; [`acquire_filled`](Self::acquire_filled) is its twin for every
    /// backend, and for plain data alone.
    ///
    /// ```
    /// # use pool_conformance::HeapBackend as Memory;
    /// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
    /// let scope = pool.scope();
    /// let best = scope.acquire_repeat::<Option<(usize, f32)>>(3, None);
    /// best[1] = Some((7, 0.5));
    /// assert_eq!(best, [None, Some((7, 0.5)), None]);
    /// ```
    ///
    /// # Panics
    ///
    /// With the text of the error that [`try_acquire_repeat`](Self::try_acquire_repeat) returns.
    #[inline]
    #[track_caller]
    pub fn acquire_repeat<T: HostElement + 's>(&self, length: usize, value: T) -> &'s mut [T] {
        self.try_acquire_repeat(length, value).unwrap_or_else(|error| Cursor::<B>::fail(&error))
    }

    /// As [`acquire_repeat`](Self::acquire_repeat).
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire).
    #[inline]
    pub fn try_acquire_repeat<T: HostElement + 's>(
        &self,
        length: usize,
        value: T,
    ) -> HostAcquireResult<'s, B, T> {
        self.try_acquire_with(length, |_| value)
    }

    /// The body that the family shares: takes a slot, marks it where the elements may have padding, has them
    /// written, makes the slice.
    ///
    /// # Safety
    ///
    /// `write` is given a slot that was just taken for `length` elements of `T`, and that nothing views; when it
    /// returns, that many elements are written.
    #[inline(always)]
    unsafe fn acquire_written<T: Copy + 's>(
        &self,
        length: usize,
        write: impl FnOnce(SlotPointer<'s, B>),
    ) -> HostAcquireResult<'s, B, T> {
        // SAFETY: what is written are values of `T`.
        let slot = unsafe { self.take_unwritten::<T>(length, is_known_plain::<T>()) }?;
        write(slot);
        // SAFETY: taken for `length` elements, which are written (caller), and this is the slot's first view.
        Ok(unsafe { slot.host_slice(length) })
    }

    /// Takes a slot for `length` elements of `T` that nobody has written yet, and marks it unless what is written
    /// there will be `plain`.
    ///
    /// # Safety
    ///
    /// Where `plain`, all that is written to the slot are values without an uninitialised byte.
    #[inline(always)]
    pub(super) unsafe fn take_unwritten<T>(
        &self,
        length: usize,
        plain: bool,
    ) -> Result<SlotPointer<'s, B>, PoolError<B::Error>> {
        // SAFETY: the pool lives for `'s`.
        let slot = unsafe { self.cursor.try_reserve::<T>(length, FirstUse::Write) }?;
        // SAFETY: just reserved through this cursor.
        unsafe { self.cursor.step(slot) };
        if !plain {
            // SAFETY: reserved for as many bytes, just stepped past, and the scope is open.
            unsafe { slot.mark(length * size_of::<T>()) };
        }
        Ok(slot)
    }
}
