//! Defines arrays whose elements may be in any kind of memory. The arrays have methods that reshape
//! them, split them, and return their lengths and strides. The acquire methods return an `NdView`
//! if they are called with a shape.

use crate::error::{ShapeError, panic_with};
use crate::lengths::{DynamicShape, turn_into_strides};
pub use crate::nd_array::NdView;
use crate::view::PoolView;

impl<V: PoolView, D: AsRef<[usize]>> NdView<V, D> {
    /// Combines a view with a shape that has the same number of elements.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeError::LengthMismatch`] if the shape and the view have different numbers of
    /// elements, or [`ShapeError::Overflow`] if the product of the axis lengths overflows.
    pub fn new(view: V, dims: D) -> Result<Self, ShapeError> {
        let length = view.len();
        Self::checked(view, length, size_of::<V::Element>(), dims)
    }

    /// Returns the length of each axis, in elements.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        self.dims.as_ref()
    }

    /// Returns the number of axes.
    #[inline]
    pub fn rank(&self) -> usize {
        self.shape().len()
    }

    /// Returns the number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.view.len()
    }

    /// Returns `true` if the array has no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.view.is_empty()
    }

    /// Converts the array into a one-dimensional view of all elements in row-major order.
    #[inline]
    pub fn into_view(self) -> V {
        self.view
    }

    /// Splits the array into its view and its axis lengths.
    #[inline]
    pub fn into_parts(self) -> (V, D) {
        (self.view, self.dims)
    }

    /// Returns this array's elements as an array with a different shape.
    ///
    /// # Panics
    ///
    /// Panics with the [`ShapeError`] that [`try_reshape`](Self::try_reshape) would return.
    pub fn reshape<const N: usize>(self, dims: [usize; N]) -> NdView<V, [usize; N]> {
        self.try_reshape(dims).unwrap_or_else(|error| panic_with(&error))
    }

    /// The fallible version of [`reshape`](Self::reshape).
    ///
    /// # Errors
    ///
    /// Returns [`ShapeError::LengthMismatch`] if the new shape has a different number of elements.
    pub fn try_reshape<const N: usize>(
        self,
        dims: [usize; N],
    ) -> Result<NdView<V, [usize; N]>, ShapeError> {
        NdView::new(self.view, dims)
    }
}

impl<V: PoolView, const N: usize> NdView<V, [usize; N]> {
    /// Returns the length of each axis by value, in elements.
    #[inline]
    pub fn dims(&self) -> [usize; N] {
        self.dims
    }

    /// Returns the row-major stride of each axis, in elements. If any axis has length zero, all
    /// strides are zero.
    pub fn strides(&self) -> [usize; N] {
        let mut strides = self.dims;
        turn_into_strides(&mut strides);
        strides
    }

    /// Splits the array along its first axis into the rows before `index` and the remaining rows.
    ///
    /// # Panics
    ///
    /// Panics with the [`ShapeError`] that [`try_split_at`](Self::try_split_at) would return.
    pub fn split_at(self, index: usize) -> (Self, Self) {
        self.try_split_at(index).unwrap_or_else(|error| panic_with(&error))
    }

    /// The fallible version of [`split_at`](Self::split_at).
    ///
    /// # Errors
    ///
    /// Returns [`ShapeError::SplitOutOfRange`] if `index` is greater than the length of the first
    /// axis.
    pub fn try_split_at(self, index: usize) -> Result<(Self, Self), ShapeError> {
        let (extent, rest) = match self.dims.split_first() {
            Some((&extent, rest)) if index <= extent => (extent, rest),
            first => {
                let extent = first.map_or(0, |(&extent, _)| extent);
                return Err(ShapeError::SplitOutOfRange { asked: index, extent });
            }
        };
        // If the view is empty, the row length is not needed, because neither part of the split has
        // any elements.
        let row = if self.view.is_empty() { 0 } else { rest.iter().product() };
        let (mut before, mut after) = (self.dims, self.dims);
        before[0] = index;
        after[0] = extent - index;
        let (left, right) = self.view.into_split_at(index * row)?;
        Ok((Self { view: left, dims: before }, Self { view: right, dims: after }))
    }
}

impl<'s, V: PoolView> NdView<V, DynamicShape<'s>> {
    /// Returns the shape and its strides, both borrowed from the shape cache.
    pub fn dims(&self) -> DynamicShape<'s> {
        self.dims
    }

    /// Returns the row-major stride of each axis, in elements. If any axis has length zero, all
    /// strides are zero.
    pub fn strides(&self) -> &'s [usize] {
        self.dims.strides()
    }
}
