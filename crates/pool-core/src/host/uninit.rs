//! Memory without a value: slices and arrays of `MaybeUninit<T>`, for code that initialises them itself.

use core::mem::MaybeUninit;

use super::{HostAcquireResult, HostArray, HostArrayResult};
use crate::backend::HostBackend;
use crate::element::HostElement;
use crate::lengths::element_count;
use crate::nd_view::NdView;
use crate::raw::Cursor;
use crate::scope::Scope;

impl<'s, B: HostBackend> Scope<'s, B> {
    /// Room for `length` elements of any type that is [`Copy`], which nobody has written.
    ///
    /// The slot is marked, as [`acquire_with`](Self::acquire_with) says under *Cost*: also for numbers, because
    /// what is left in a `MaybeUninit` need not be a number.
    ///
    /// ```
    /// # use pool_conformance::HeapBackend as Memory;
    /// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
    /// let scope = pool.scope();
    /// let room = scope.acquire_uninit::<(u8, f64)>(3);
    /// let first = room[0].write((1, 0.5));
    /// first.1 += 1.0;
    /// assert_eq!(*first, (1, 1.5));
    /// ```
    ///
    /// # Panics
    ///
    /// With the text of the error that [`try_acquire_uninit`](Self::try_acquire_uninit) returns.
    #[inline]
    #[track_caller]
    pub fn acquire_uninit<T: HostElement + 's>(&self, length: usize) -> &'s mut [MaybeUninit<T>] {
        self.try_acquire_uninit(length).unwrap_or_else(|error| Cursor::<B>::fail(&error))
    }

    /// As [`acquire_uninit`](Self::acquire_uninit).
    ///
    /// # Errors
    ///
    /// As [`try_acquire`](Self::try_acquire).
    #[inline]
    pub fn try_acquire_uninit<T: HostElement + 's>(
        &self,
        length: usize,
    ) -> HostAcquireResult<'s, B, MaybeUninit<T>> {
        // SAFETY: nothing is said to be plain.
        let slot = unsafe { self.take_unwritten::<T>(length, false) }?;
        // SAFETY: taken for `length` elements, of the size and alignment of `T`; anything is a valid
        // `MaybeUninit`, and this is the slot's first view.
        Ok(unsafe { slot.host_slice(length) })
    }

    /// Room for an array of any type that is [`Copy`], in row-major order, which nobody has written; otherwise as
    /// [`acquire_uninit`](Self::acquire_uninit).
    ///
    /// ```
    /// # use pool_conformance::HeapBackend as Memory;
    /// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
    /// let scope = pool.scope();
    /// let mut room = scope.acquire_nd_uninit::<f32, 2>([2, 3]);
    /// assert_eq!(*room[[1, 2]].write(0.5), 0.5);
    /// ```
    ///
    /// # Panics
    ///
    /// With the text of the error that [`try_acquire_nd_uninit`](Self::try_acquire_nd_uninit) returns.
    #[inline]
    #[track_caller]
    pub fn acquire_nd_uninit<T: HostElement + 's, const N: usize>(
        &self,
        dims: [usize; N],
    ) -> HostArray<'s, MaybeUninit<T>, N> {
        self.try_acquire_nd_uninit(dims).unwrap_or_else(|error| Cursor::<B>::fail(&error))
    }

    /// As [`acquire_nd_uninit`](Self::acquire_nd_uninit).
    ///
    /// # Errors
    ///
    /// As [`try_acquire_nd`](Self::try_acquire_nd).
    #[inline]
    pub fn try_acquire_nd_uninit<T: HostElement + 's, const N: usize>(
        &self,
        dims: [usize; N],
    ) -> HostArrayResult<'s, B, MaybeUninit<T>, N> {
        let length = element_count(&dims, size_of::<T>())?;
        let view = self.try_acquire_uninit(length)?;
        // SAFETY: the view has `length` elements, the product of the dims.
        Ok(unsafe { NdView::new_unchecked(view, dims) })
    }
}
