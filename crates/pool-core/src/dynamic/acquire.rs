//! Implements the dynamic pool's acquire methods. A dynamic pool's acquire methods work like a
//! scope's acquire methods but return handles to the arrays.

use super::{DynamicPool, Handle, HandleResult};
use crate::backend::{ArrayMemory, FirstUse, Memory, PoolBackend, ScopeCursor};
use crate::element::{Element, PodElement};
use crate::error::{PoolError, panic_with};

impl<B: PoolBackend> DynamicPool<B> {
    /// Acquires an array of `length` elements whose contents are unspecified and might be left over
    /// from an earlier use.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_acquire`](Self::try_acquire) would return.
    #[inline]
    #[track_caller]
    pub fn acquire<T: PodElement>(&mut self, length: usize) -> Handle<T> {
        // SAFETY: the slot is used only during this call, and the pool outlives the call.
        let slot = unsafe { self.cursor.reserve::<T>(length) };
        // SAFETY: the slot was just reserved through this cursor.
        unsafe { self.cursor.step(slot) };
        // SAFETY: the slot is reserved for `length` elements and is the slot that the cursor most
        // recently moved past. Every byte pattern is a valid value of a `PodElement` type.
        unsafe { self.name(slot, length) }.unwrap_or_else(|error| panic_with(&error))
    }

    /// The fallible version of [`acquire`](Self::acquire).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Scope::try_acquire`](crate::Scope::try_acquire).
    #[inline]
    pub fn try_acquire<T: PodElement>(&mut self, length: usize) -> HandleResult<B, T> {
        // SAFETY: every block is initialized, and every byte pattern is a valid value of a
        // `PodElement` type.
        unsafe { self.acquire_named(length, FirstUse::Read, |_| Ok(())) }
    }

    /// Acquires an array of `length` elements whose bytes are all zero.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_acquire_zeroed`](Self::try_acquire_zeroed) would return.
    #[track_caller]
    pub fn acquire_zeroed<T: Element>(&mut self, length: usize) -> Handle<T> {
        self.try_acquire_zeroed(length).unwrap_or_else(|error| panic_with(&error))
    }

    /// The fallible version of [`acquire_zeroed`](Self::acquire_zeroed).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Scope::try_acquire`](crate::Scope::try_acquire).
    pub fn try_acquire_zeroed<T: Element>(&mut self, length: usize) -> HandleResult<B, T> {
        // SAFETY: `acquire_named` passes a slot that is reserved for `length` elements and that no
        // view refers to.
        let zero = |slot: Memory<'_, B>| unsafe { slot.zero::<T>(length) };
        // SAFETY: the bytes of all `length` elements are zeroed, and all-zero bytes are a valid
        // value of every `Element` type.
        unsafe { self.acquire_named(length, FirstUse::Write, zero) }
    }

    /// Acquires an array of `length` elements that are all equal to `value`.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_acquire_filled`](Self::try_acquire_filled) would return.
    #[track_caller]
    pub fn acquire_filled<T: Element>(&mut self, length: usize, value: T) -> Handle<T> {
        self.try_acquire_filled(length, value).unwrap_or_else(|error| panic_with(&error))
    }

    /// The fallible version of [`acquire_filled`](Self::acquire_filled).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Scope::try_acquire`](crate::Scope::try_acquire).
    pub fn try_acquire_filled<T: Element>(
        &mut self,
        length: usize,
        value: T,
    ) -> HandleResult<B, T> {
        // SAFETY: `acquire_named` passes a slot that is reserved for `length` elements and that no
        // view refers to.
        let fill = |slot: Memory<'_, B>| unsafe { slot.fill(value, length) };
        // SAFETY: all `length` elements have been written.
        unsafe { self.acquire_named(length, FirstUse::Write, fill) }
    }

    /// Acquires an array that contains a copy of `source`. The caller may reuse `source` as soon as
    /// this method returns.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_acquire_from`](Self::try_acquire_from) would return.
    #[track_caller]
    pub fn acquire_from<T: Element>(&mut self, source: &[T]) -> Handle<T> {
        self.try_acquire_from(source).unwrap_or_else(|error| panic_with(&error))
    }

    /// The fallible version of [`acquire_from`](Self::acquire_from).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Scope::try_acquire`](crate::Scope::try_acquire).
    pub fn try_acquire_from<T: Element>(&mut self, source: &[T]) -> HandleResult<B, T> {
        // SAFETY: `acquire_named` passes a slot that is reserved for `source.len()` elements and
        // that no view refers to. `source` is a live slice, so it cannot be part of an idle block.
        let copy = |slot: Memory<'_, B>| unsafe { slot.copy_from_host(source) };
        // SAFETY: all `source.len()` elements have been written.
        unsafe { self.acquire_named(source.len(), FirstUse::Write, copy) }
    }

    /// The implementation shared by all acquire methods. The method reserves memory, advances the
    /// cursor past it, fills it, and assigns it a handle.
    ///
    /// # Safety
    ///
    /// `fill` receives a slot that was just acquired for `length` elements of `T` and that no view
    /// refers to. When `fill` returns `Ok`, all elements of the slot must be valid values of `T`.
    /// If `first_use` is `Write`, `fill` must have written all elements before it returns `Ok`.
    #[inline(always)]
    unsafe fn acquire_named<T: Element>(
        &mut self,
        length: usize,
        first_use: FirstUse,
        fill: impl FnOnce(Memory<'_, B>) -> Result<(), PoolError<B::Error>>,
    ) -> HandleResult<B, T> {
        // SAFETY: the slot is used only during this call, and the pool outlives the call.
        let slot = unsafe { self.cursor.try_reserve::<T>(length, first_use) }?;
        // SAFETY: the slot was just reserved through this cursor.
        unsafe { self.cursor.step(slot) };
        if let Err(error) = fill(slot) {
            // SAFETY: the cursor has just moved past the slot, and no view of the slot has been
            // created.
            unsafe { self.cursor.step_back(slot) };
            return Err(error);
        }
        // SAFETY: this slot is the one that the cursor most recently moved past, and the caller
        // guarantees that the slot's elements are valid.
        unsafe { self.name(slot, length) }
    }
}
