//! The type of an array, and access to its elements in host memory with indices and slices.

use core::ops::{Deref, DerefMut, Index, IndexMut};

use crate::error::ShapeError;
use crate::lengths::element_count;

/// The elements of a view `V` as a row-major array. `D` contains the lengths along the axes:
/// `[usize; N]`, or [`DynamicShape`](crate::DynamicShape) for a rank known at run time.
///
/// Index host arrays with `array[[row, column]]`. `as_slice` and `as_mut_slice` return the elements
/// in row-major order. The `ndarray` feature of the host backend converts an array into an
/// `ndarray` view.
#[derive(Clone, Copy, Debug)]
pub struct NdView<V, D> {
    /// A view of exactly the product of `dims` elements.
    pub(crate) view: V,
    pub(crate) dims: D,
}

impl<V, D: AsRef<[usize]>> NdView<V, D> {
    /// Combines a view of `length` elements with a shape of the same number of elements.
    ///
    /// # Errors
    ///
    /// [`ShapeError::LengthMismatch`] if the shape has a different number of elements, and
    /// [`ShapeError::Overflow`] if the product of its lengths overflows.
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
    /// Combines a view with a shape of matching length. Conversions into views of other libraries
    /// rely on the match.
    ///
    /// # Safety
    ///
    /// The product of `dims` is the number of the view's elements.
    #[inline(always)]
    pub(crate) unsafe fn new_unchecked(view: V, dims: D) -> Self {
        Self { view, dims }
    }
}

impl<T, V: Deref<Target = [T]>, D: AsRef<[usize]>> NdView<V, D> {
    /// Returns all elements of the array, in row-major order.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        &self.view
    }

    /// Returns all elements of the array for writing, in row-major order.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [T]
    where
        V: DerefMut,
    {
        &mut self.view
    }

    /// Returns the element at `index`, which contains one number for each axis. Returns `None` if
    /// `index` is out of bounds or has a different rank.
    #[inline]
    pub fn get(&self, index: &[usize]) -> Option<&T> {
        self.view.get(offset(self.dims.as_ref(), index)?)
    }

    /// Returns the element at `index` for writing, under the same conditions as [`get`](Self::get).
    #[inline]
    pub fn get_mut(&mut self, index: &[usize]) -> Option<&mut T>
    where
        V: DerefMut,
    {
        let offset = offset(self.dims.as_ref(), index)?;
        self.view.get_mut(offset)
    }
}

/// Returns the offset of an index in row-major order. Returns `None` if the index is out of bounds
/// or has a different rank.
#[inline]
fn offset(dims: &[usize], index: &[usize]) -> Option<usize> {
    if dims.len() != index.len() {
        return None;
    }
    dims.iter().zip(index).try_fold(0_usize, |offset, (&extent, &at)| {
        // Every partial offset is below the product of the axes so far. Only a user's type of
        // lengths could return different values on a later call; the wrapped offset is then
        // bounds-checked like any index.
        if at < extent { Some(offset.wrapping_mul(extent).wrapping_add(at)) } else { None }
    })
}

/// # Panics
///
/// Panics if the index is out of bounds, as indexing a slice does.
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
/// Panics if the index is out of bounds, as indexing a slice does.
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
