//! Defines the array type and the methods that access elements in host memory by index or as a
//! slice.

use core::ops::{Deref, DerefMut, Index, IndexMut};

use crate::error::ShapeError;
use crate::lengths::element_count;

/// A row-major array whose elements are stored in a view `V`. The type parameter `D` is the type of
/// the axis lengths. `D` is `[usize; N]` or, if the rank is known only at run time,
/// [`DynamicShape`](crate::DynamicShape).
///
/// The elements of a host array can be accessed with `array[[row, column]]`. `as_slice` and
/// `as_mut_slice` return the array's elements in row-major order. If the host backend's `ndarray`
/// feature is enabled, an array can be converted into an `ndarray` view.
#[derive(Clone, Copy, Debug)]
pub struct NdView<V, D> {
    /// A view whose length is exactly the product of `dims`.
    pub(crate) view: V,
    pub(crate) dims: D,
}

impl<V, D: AsRef<[usize]>> NdView<V, D> {
    /// Combines a view of `length` elements with a shape that has the same number of elements.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeError::LengthMismatch`] if the shape has a different number of elements, or
    /// [`ShapeError::Overflow`] if the product of its axis lengths overflows.
    pub(crate) fn checked(
        view: V,
        length: usize,
        element_bytes: usize,
        dims: D,
    ) -> Result<Self, ShapeError> {
        let asked = element_count(dims.as_ref(), element_bytes)?;
        if asked != length {
            return Err(ShapeError::LengthMismatch { asked, length });
        }
        Ok(Self { view, dims })
    }
}

impl<V, D> NdView<V, D> {
    /// Combines a view with a shape without checking that both have the same number of elements.
    /// Conversions into other libraries' views require the view and the shape to have the same
    /// number of elements.
    ///
    /// # Safety
    ///
    /// The product of `dims` must equal the number of elements in the view.
    #[inline(always)]
    pub(crate) unsafe fn new_unchecked(view: V, dims: D) -> Self {
        Self { view, dims }
    }
}

impl<T, V: Deref<Target = [T]>, D: AsRef<[usize]>> NdView<V, D> {
    /// Returns all elements of the array in row-major order.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        &self.view
    }

    /// Returns all elements of the array as a mutable slice in row-major order.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [T]
    where
        V: DerefMut,
    {
        &mut self.view
    }

    /// Returns the element at `index`, which must contain one entry per axis. Returns `None` if
    /// `index` is out of bounds or has the wrong rank.
    #[inline]
    pub fn get(&self, index: &[usize]) -> Option<&T> {
        self.view.get(offset(self.dims.as_ref(), index)?)
    }

    /// Returns a mutable reference to the element at `index`. Returns `None` if `index` is out of
    /// bounds or has the wrong rank.
    #[inline]
    pub fn get_mut(&mut self, index: &[usize]) -> Option<&mut T>
    where
        V: DerefMut,
    {
        let offset = offset(self.dims.as_ref(), index)?;
        self.view.get_mut(offset)
    }
}

/// Returns the row-major offset of an index. Returns `None` if the index is out of bounds or has
/// the wrong rank.
#[inline]
fn offset(dims: &[usize], index: &[usize]) -> Option<usize> {
    if dims.len() != index.len() {
        return None;
    }
    dims.iter().zip(index).try_fold(0_usize, |offset, (&extent, &at)| {
        // At each step, the partial offset is less than the product of the axis lengths processed
        // so far. The offset can wrap around only if a method of a user-defined type returns
        // different lengths on successive calls. Even a wrapped offset is bounds-checked like any
        // other index.
        if at < extent { Some(offset.wrapping_mul(extent).wrapping_add(at)) } else { None }
    })
}

/// # Panics
///
/// Panics if the index is out of bounds, just as indexing a slice does.
impl<T, V: Deref<Target = [T]>, D: AsRef<[usize]>, const N: usize> Index<[usize; N]>
    for NdView<V, D>
{
    type Output = T;

    #[inline]
    fn index(&self, index: [usize; N]) -> &T {
        match offset(self.dims.as_ref(), &index) {
            Some(offset) => &self.view[offset],
            None => out_of_bounds(self.dims.as_ref(), &index),
        }
    }
}

/// # Panics
///
/// Panics if the index is out of bounds, just as indexing a slice does.
impl<T, V: DerefMut<Target = [T]>, D: AsRef<[usize]>, const N: usize> IndexMut<[usize; N]>
    for NdView<V, D>
{
    #[inline]
    fn index_mut(&mut self, index: [usize; N]) -> &mut T {
        match offset(self.dims.as_ref(), &index) {
            Some(offset) => &mut self.view[offset],
            None => out_of_bounds(self.dims.as_ref(), &index),
        }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
#[expect(
    clippy::panic,
    reason = "the documented behaviour of an index out of bounds, as of slices"
)]
fn out_of_bounds(dims: &[usize], index: &[usize]) -> ! {
    panic!("index {index:?} is out of bounds for an array of shape {dims:?}")
}
