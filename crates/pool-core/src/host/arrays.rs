//! Arrays of any `T: Copy` and of a fixed rank that are written before they are read: the slices of this
//! module with a shape.

use super::{HostArray, HostArrayResult};
use crate::backend::HostBackend;
use crate::element::HostElement;
use crate::error::ShapeError;
use crate::lengths::element_count;
use crate::nd_view::NdView;
use crate::raw::Cursor;
use crate::scope::Scope;

impl<'s, B: HostBackend> Scope<'s, B> {
    /// An array whose elements are made by `element(index)`, in row-major order; of any type that is [`Copy`].
    ///
    /// `element` may acquire from this scope, as in [`acquire_with`](Self::acquire_with), which also says what
    /// elements cost that are not numbers.
    ///
    /// ```
    /// # use pool_conformance::HeapBackend as Memory;
    /// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
    /// let scope = pool.scope();
    /// let pairs = scope.acquire_nd_with([2, 3], |[row, column]| (row, column));
    /// assert_eq!(pairs[[1, 2]], (1, 2));
    /// ```
    ///
    /// # Panics
    ///
    /// With the text of the error that [`try_acquire_nd_with`](Self::try_acquire_nd_with) returns.
    #[inline]
    #[track_caller]
    pub fn acquire_nd_with<T: HostElement + 's, const N: usize>(
        &self,
        dims: [usize; N],
        element: impl FnMut([usize; N]) -> T,
    ) -> HostArray<'s, T, N> {
        self.try_acquire_nd_with(dims, element).unwrap_or_else(|error| Cursor::<B>::fail(&error))
    }

    /// As [`acquire_nd_with`](Self::acquire_nd_with).
    ///
    /// # Errors
    ///
    /// As [`try_acquire_nd`](Self::try_acquire_nd); `element` is then not called.
    #[inline]
    pub fn try_acquire_nd_with<T: HostElement + 's, const N: usize>(
        &self,
        dims: [usize; N],
        mut element: impl FnMut([usize; N]) -> T,
    ) -> HostArrayResult<'s, B, T, N> {
        let length = element_count(&dims, size_of::<T>())?;
        let mut index = [0; N];
        let view = self.try_acquire_with(length, |_| {
            let value = element(index);
            advance(&mut index, &dims);
            value
        })?;
        // SAFETY: the view has `length` elements, the product of the dims.
        Ok(unsafe { NdView::new_unchecked(view, dims) })
    }

    /// An array with a copy of `source`, in row-major order; of any type that is [`Copy`].
    ///
    /// ```
    /// # use pool_conformance::HeapBackend as Memory;
    /// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
    /// let scope = pool.scope();
    /// let words = scope.acquire_nd_copy([2, 2], &["a", "b", "c", "d"]);
    /// assert_eq!(words[[1, 0]], "c");
    /// ```
    ///
    /// # Panics
    ///
    /// With the text of the error that [`try_acquire_nd_copy`](Self::try_acquire_nd_copy) returns.
    #[inline]
    #[track_caller]
    pub fn acquire_nd_copy<T: HostElement + 's, const N: usize>(
        &self,
        dims: [usize; N],
        source: &[T],
    ) -> HostArray<'s, T, N> {
        self.try_acquire_nd_copy(dims, source).unwrap_or_else(|error| Cursor::<B>::fail(&error))
    }

    /// As [`acquire_nd_copy`](Self::acquire_nd_copy).
    ///
    /// # Errors
    ///
    /// [`ShapeError::LengthMismatch`] where `source` does not have as many elements as the shape, and all of
    /// [`try_acquire_nd`](Self::try_acquire_nd).
    #[inline]
    pub fn try_acquire_nd_copy<T: HostElement + 's, const N: usize>(
        &self,
        dims: [usize; N],
        source: &[T],
    ) -> HostArrayResult<'s, B, T, N> {
        let asked = element_count(&dims, size_of::<T>())?;
        if source.len() != asked {
            return Err(ShapeError::LengthMismatch { asked, length: source.len() }.into());
        }
        let view = self.try_acquire_copy(source)?;
        // SAFETY: the view has as many elements as the source, the product of the dims.
        Ok(unsafe { NdView::new_unchecked(view, dims) })
    }

    /// An array whose elements all are `value`, of any type that is [`Copy`].
    ///
    /// ```
    /// # use pool_conformance::HeapBackend as Memory;
    /// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
    /// let scope = pool.scope();
    /// let mut board = scope.acquire_nd_repeat([3, 3], None::<char>);
    /// board[[1, 1]] = Some('x');
    /// assert_eq!((board[[0, 0]], board[[1, 1]]), (None, Some('x')));
    /// ```
    ///
    /// # Panics
    ///
    /// With the text of the error that [`try_acquire_nd_repeat`](Self::try_acquire_nd_repeat) returns.
    #[inline]
    #[track_caller]
    pub fn acquire_nd_repeat<T: HostElement + 's, const N: usize>(
        &self,
        dims: [usize; N],
        value: T,
    ) -> HostArray<'s, T, N> {
        self.try_acquire_nd_repeat(dims, value).unwrap_or_else(|error| Cursor::<B>::fail(&error))
    }

    /// As [`acquire_nd_repeat`](Self::acquire_nd_repeat).
    ///
    /// # Errors
    ///
    /// As [`try_acquire_nd`](Self::try_acquire_nd).
    #[inline]
    pub fn try_acquire_nd_repeat<T: HostElement + 's, const N: usize>(
        &self,
        dims: [usize; N],
        value: T,
    ) -> HostArrayResult<'s, B, T, N> {
        let length = element_count(&dims, size_of::<T>())?;
        let view = self.try_acquire_repeat(length, value)?;
        // SAFETY: the view has `length` elements, the product of the dims.
        Ok(unsafe { NdView::new_unchecked(view, dims) })
    }
}

/// Steps an index to the next element in row-major order.
fn advance(index: &mut [usize], dims: &[usize]) {
    for (at, &extent) in index.iter_mut().zip(dims).rev() {
        *at += 1;
        if *at < extent {
            return;
        }
        *at = 0;
    }
}
