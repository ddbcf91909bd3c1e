//! The acquire family of the dynamic pool: as that of a scope, with a handle for the array.

use super::{DynamicPool, Handle};
use crate::backend::{HostBackend, PoolBackend};
use crate::element::{Element, PodElement};
use crate::error::{PoolError, panic_with};
use crate::view::Extent;

/// What a `try_` acquire of a dynamic pool returns.
type Named<B, T> = Result<Handle<T>, PoolError<<B as PoolBackend>::Error>>;

impl<B: PoolBackend> DynamicPool<B> {
    /// `length` elements with unspecified contents: whatever a former use left behind.
    ///
    /// # Panics
    ///
    /// With the text of the error that [`try_acquire`](Self::try_acquire) returns.
    #[inline]
    #[track_caller]
    pub fn acquire<T: PodElement>(&mut self, length: usize) -> Handle<T> {
        // SAFETY: the pool lives while the slot is used, which is until `take` returns.
        let slot = unsafe { self.cursor.reserve::<T>(length) };
        // SAFETY: just reserved for `length` elements; any bytes are a valid `PodElement`.
        unsafe { self.take(slot, length) }
    }

    /// As [`acquire`](Self::acquire).
    ///
    /// # Errors
    ///
    /// As [`Scope::try_acquire`](crate::Scope::try_acquire).
    #[inline]
    pub fn try_acquire<T: PodElement>(&mut self, length: usize) -> Named<B, T> {
        // SAFETY: the pool lives while the slot is used, which is until `take` returns.
        let slot = unsafe { self.cursor.try_reserve::<T>(length) }?;
        // SAFETY: just reserved for `length` elements; any bytes are a valid `PodElement`.
        Ok(unsafe { self.take(slot, length) })
    }

    /// `length` elements of zero bytes.
    ///
    /// # Panics
    ///
    /// With the text of the error that [`try_acquire_zeroed`](Self::try_acquire_zeroed) returns.
    #[track_caller]
    pub fn acquire_zeroed<T: Element>(&mut self, length: usize) -> Handle<T> {
        self.try_acquire_zeroed(length).unwrap_or_else(|error| panic_with(&error))
    }

    /// As [`acquire_zeroed`](Self::acquire_zeroed).
    ///
    /// # Errors
    ///
    /// As [`Scope::try_acquire`](crate::Scope::try_acquire).
    pub fn try_acquire_zeroed<T: Element>(&mut self, length: usize) -> Named<B, T> {
        // SAFETY: as in `try_acquire`.
        let slot = unsafe { self.cursor.try_reserve::<T>(length) }?;
        // SAFETY: reserved for `length` elements, and nothing views it.
        let zero = || unsafe { slot.zero::<T>(length) };
        // SAFETY: just reserved for `length` elements; zero bytes are a valid `Element`.
        unsafe { self.take_filled(slot, length, zero) }
    }

    /// `length` elements that all are `value`.
    ///
    /// # Panics
    ///
    /// With the text of the error that [`try_acquire_filled`](Self::try_acquire_filled) returns.
    #[track_caller]
    pub fn acquire_filled<T: Element>(&mut self, length: usize, value: T) -> Handle<T> {
        self.try_acquire_filled(length, value).unwrap_or_else(|error| panic_with(&error))
    }

    /// As [`acquire_filled`](Self::acquire_filled).
    ///
    /// # Errors
    ///
    /// As [`Scope::try_acquire`](crate::Scope::try_acquire).
    pub fn try_acquire_filled<T: Element>(&mut self, length: usize, value: T) -> Named<B, T> {
        // SAFETY: as in `try_acquire`.
        let slot = unsafe { self.cursor.try_reserve::<T>(length) }?;
        // SAFETY: reserved for `length` elements, and nothing views it.
        let fill = || unsafe { slot.fill(value, length) };
        // SAFETY: just reserved for `length` elements, all of which are written.
        unsafe { self.take_filled(slot, length, fill) }
    }

    /// A copy of `source`. The copy has left `source` when this returns.
    ///
    /// # Panics
    ///
    /// With the text of the error that [`try_acquire_from`](Self::try_acquire_from) returns.
    #[track_caller]
    pub fn acquire_from<T: Element>(&mut self, source: &[T]) -> Handle<T> {
        self.try_acquire_from(source).unwrap_or_else(|error| panic_with(&error))
    }

    /// As [`acquire_from`](Self::acquire_from).
    ///
    /// # Errors
    ///
    /// As [`Scope::try_acquire`](crate::Scope::try_acquire).
    pub fn try_acquire_from<T: Element>(&mut self, source: &[T]) -> Named<B, T> {
        // SAFETY: as in `try_acquire`.
        let slot = unsafe { self.cursor.try_reserve::<T>(source.len()) }?;
        // SAFETY: reserved for as many elements, and nothing views it; `source` is a live slice, so
        // it is no part of an idle block.
        let copy = || unsafe { slot.copy_from_host(source) };
        // SAFETY: just reserved for as many elements, all of which are written.
        unsafe { self.take_filled(slot, source.len(), copy) }
    }

    /// As many elements as `model` has, with unspecified contents.
    ///
    /// # Panics
    ///
    /// As [`acquire`](Self::acquire).
    #[track_caller]
    pub fn acquire_like<T: PodElement>(&mut self, model: &(impl Extent + ?Sized)) -> Handle<T> {
        self.acquire(model.extent())
    }

    /// As [`acquire_like`](Self::acquire_like).
    ///
    /// # Errors
    ///
    /// As [`Scope::try_acquire`](crate::Scope::try_acquire).
    pub fn try_acquire_like<T: PodElement>(
        &mut self,
        model: &(impl Extent + ?Sized),
    ) -> Named<B, T> {
        self.try_acquire(model.extent())
    }
}

impl<B: HostBackend> DynamicPool<B> {
    /// `length` elements, each made by `element(index)`.
    ///
    /// # Panics
    ///
    /// With the text of the error that [`try_acquire_with`](Self::try_acquire_with) returns.
    #[track_caller]
    pub fn acquire_with<T: Element>(
        &mut self,
        length: usize,
        element: impl FnMut(usize) -> T,
    ) -> Handle<T> {
        self.try_acquire_with(length, element).unwrap_or_else(|error| panic_with(&error))
    }

    /// As [`acquire_with`](Self::acquire_with).
    ///
    /// # Errors
    ///
    /// As [`Scope::try_acquire`](crate::Scope::try_acquire).
    pub fn try_acquire_with<T: Element>(
        &mut self,
        length: usize,
        element: impl FnMut(usize) -> T,
    ) -> Named<B, T> {
        // SAFETY: as in `try_acquire`.
        let slot = unsafe { self.cursor.try_reserve::<T>(length) }?;
        // The slot is taken before user code runs; if that panics, the handle is never seen.
        // SAFETY: just reserved for `length` elements, which are written before the handle is seen.
        let handle = unsafe { self.take(slot, length) };
        // SAFETY: reserved for `length` elements, stepped past, and nothing views it: the pool is
        // borrowed exclusively, so `element` cannot reach it.
        unsafe { slot.write_with(length, element) };
        Ok(handle)
    }
}
