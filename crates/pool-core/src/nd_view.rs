//! A view with a shape: what `acquire_nd` returns.

use core::ops::{Deref, DerefMut, Index, IndexMut};

use crate::error::{ShapeError, panic_with};
use crate::lengths::{DynamicShape, element_count, write_row_major_strides};
use crate::view::{Extent, PoolView};

/// The elements of a view `V` as a row-major array with the lengths `D`: `[usize; N]`, or
/// [`DynamicShape`] for a rank known at run time.
///
/// Host arrays are indexed with `array[[row, column]]`; `as_slice` and `as_mut_slice` give the
/// elements in row-major order, and the feature `ndarray` of the host backend turns an array into an
/// `ndarray` view.
#[derive(Clone, Copy, Debug)]
pub struct NdView<V, D> {
    view: V,
    dims: D,
}

impl<V: PoolView, D: AsRef<[usize]>> NdView<V, D> {
    /// A view with a shape.
    ///
    /// # Errors
    ///
    /// [`ShapeError::LengthMismatch`] where the shape does not have exactly the view's elements,
    /// [`ShapeError::Overflow`] where its product overflows.
    pub fn new(view: V, dims: D) -> Result<Self, ShapeError> {
        let asked = element_count(dims.as_ref(), size_of::<V::Element>())?;
        let length = view.len();
        if asked != length {
            return Err(ShapeError::LengthMismatch { asked, length });
        }
        Ok(Self { view, dims })
    }

    /// A view and a shape of which it is known that they fit: what turns an array into a view of another
    /// library relies on it.
    ///
    /// # Safety
    ///
    /// The product of `dims` is the number of the view's elements.
    #[inline(always)]
    pub(crate) unsafe fn new_unchecked(view: V, dims: D) -> Self {
        Self { view, dims }
    }

    /// The lengths along the axes, in elements.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        self.dims.as_ref()
    }

    /// The number of axes.
    #[inline]
    pub fn rank(&self) -> usize {
        self.shape().len()
    }

    /// The number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.view.len()
    }

    /// Whether there are no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.view.is_empty()
    }

    /// The one-dimensional view of all elements, in row-major order.
    #[inline]
    pub fn into_view(self) -> V {
        self.view
    }

    /// The view and the lengths.
    #[inline]
    pub fn into_parts(self) -> (V, D) {
        (self.view, self.dims)
    }

    /// The same elements in another shape.
    ///
    /// # Panics
    ///
    /// With the text of the [`ShapeError`] that [`try_reshape`](Self::try_reshape) returns.
    pub fn reshape<const N: usize>(self, dims: [usize; N]) -> NdView<V, [usize; N]> {
        self.try_reshape(dims).unwrap_or_else(|error| panic_with(&error))
    }

    /// As [`reshape`](Self::reshape).
    ///
    /// # Errors
    ///
    /// [`ShapeError::LengthMismatch`] where the numbers of elements differ.
    pub fn try_reshape<const N: usize>(
        self,
        dims: [usize; N],
    ) -> Result<NdView<V, [usize; N]>, ShapeError> {
        NdView::new(self.view, dims)
    }
}

impl<V: PoolView, const N: usize> NdView<V, [usize; N]> {
    /// The lengths along the axes, by value.
    #[inline]
    pub fn dims(&self) -> [usize; N] {
        self.dims
    }

    /// The row-major strides, in elements; all strides are zero where the length of an axis is.
    pub fn strides(&self) -> [usize; N] {
        let mut strides = [0; N];
        write_row_major_strides(&self.dims, &mut strides);
        strides
    }

    /// Splits along the first axis: the rows before `index`, and the rest.
    ///
    /// # Panics
    ///
    /// With the text of the [`ShapeError`] that [`try_split_at`](Self::try_split_at) returns.
    pub fn split_at(self, index: usize) -> (Self, Self) {
        self.try_split_at(index).unwrap_or_else(|error| panic_with(&error))
    }

    /// As [`split_at`](Self::split_at).
    ///
    /// # Errors
    ///
    /// [`ShapeError::SplitOutOfRange`] where `index` is above the length of the first axis.
    pub fn try_split_at(self, index: usize) -> Result<(Self, Self), ShapeError> {
        let (extent, rest) = match self.dims.split_first() {
            Some((&extent, rest)) if index <= extent => (extent, rest),
            first => {
                let extent = first.map_or(0, |(&extent, _)| extent);
                return Err(ShapeError::SplitOutOfRange { asked: index, extent });
            }
        };
        // Zero where an axis is: then there are no elements on either side.
        let row = if self.view.is_empty() { 0 } else { rest.iter().product() };
        let (mut before, mut after) = (self.dims, self.dims);
        before[0] = index;
        after[0] = extent - index;
        let (left, right) = self.view.try_split_at(index * row)?;
        Ok((Self { view: left, dims: before }, Self { view: right, dims: after }))
    }
}

impl<'s, V: PoolView> NdView<V, DynamicShape<'s>> {
    /// The shape and its strides, borrowed from the shape cache.
    pub fn dims(&self) -> DynamicShape<'s> {
        self.dims
    }

    /// The row-major strides, in elements; all strides are zero where the length of an axis is.
    pub fn strides(&self) -> &'s [usize] {
        self.dims.strides()
    }
}

impl<T, V: Deref<Target = [T]>, D: AsRef<[usize]>> NdView<V, D> {
    /// All elements of the array, in row-major order.
    #[inline]
    pub fn as_slice(&self) -> &[T] {
        &self.view
    }

    /// All elements of the array, in row-major order, to be written.
    #[inline]
    pub fn as_mut_slice(&mut self) -> &mut [T]
    where
        V: DerefMut,
    {
        &mut self.view
    }

    /// The element at `index`, one number for each axis; `None` out of bounds or of another rank.
    #[inline]
    pub fn get(&self, index: &[usize]) -> Option<&T> {
        self.view.get(offset(self.dims.as_ref(), index)?)
    }

    /// The element at `index`, to be written; `None` as for [`get`](Self::get).
    #[inline]
    pub fn get_mut(&mut self, index: &[usize]) -> Option<&mut T>
    where
        V: DerefMut,
    {
        let offset = offset(self.dims.as_ref(), index)?;
        self.view.get_mut(offset)
    }
}

/// The offset of an index in row-major order; `None` where the index is out of bounds or of another rank.
#[inline]
fn offset(dims: &[usize], index: &[usize]) -> Option<usize> {
    if dims.len() != index.len() {
        return None;
    }
    dims.iter().zip(index).try_fold(0_usize, |offset, (&extent, &at)| {
        // Every partial offset is below the product of the axes so far, unless the lengths are of a type of
        // the user's that says something else by now: then what is wrapped is looked at as any index.
        if at < extent { Some(offset.wrapping_mul(extent).wrapping_add(at)) } else { None }
    })
}

/// # Panics
///
/// Where the index is out of bounds, as for slices.
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
/// Where the index is out of bounds, as for slices.
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

impl<V: PoolView, D: AsRef<[usize]>> Extent for NdView<V, D> {
    fn extent(&self) -> usize {
        self.len()
    }
}

/// Gives a one-dimensional view a shape: `view.reshape([rows, columns])`.
pub trait Reshape: PoolView {
    /// The same elements as an array of the given shape, in row-major order.
    ///
    /// # Panics
    ///
    /// With the text of the [`ShapeError`] that [`try_reshape`](Self::try_reshape) returns.
    fn reshape<const N: usize>(self, dims: [usize; N]) -> NdView<Self, [usize; N]> {
        self.try_reshape(dims).unwrap_or_else(|error| panic_with(&error))
    }

    /// As [`reshape`](Self::reshape).
    ///
    /// # Errors
    ///
    /// [`ShapeError::LengthMismatch`] where the shape does not have exactly the view's elements.
    fn try_reshape<const N: usize>(
        self,
        dims: [usize; N],
    ) -> Result<NdView<Self, [usize; N]>, ShapeError> {
        NdView::new(self, dims)
    }
}

impl<V: PoolView> Reshape for V {}
