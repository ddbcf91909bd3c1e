//! Arrays in any kind of memory: their lengths, strides, reshaping and splitting. Acquires with a
//! shape return these arrays.

use crate::error::{ShapeError, panic_with};
use crate::lengths::{DynamicShape, turn_into_strides};
pub use crate::nd_array::NdView;
use crate::view::PoolView;

impl<V: PoolView, D: AsRef<[usize]>> NdView<V, D> {
    /// Combines a view with a shape.
    ///
    /// # Errors
    ///
    /// [`ShapeError::LengthMismatch`] if the shape and the view have different numbers of elements,
    /// and [`ShapeError::Overflow`] if the product of the lengths overflows.
    pub fn new(view: V, dims: D) -> Result<Self, ShapeError> {
        let length = view.len();
        Self::checked(view, length, size_of::<V::Element>(), dims)
    }

    /// Returns the lengths along the axes, in elements.
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

    /// Returns `true` if there are no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.view.is_empty()
    }

    /// Converts the array into the one-dimensional view of all elements, in row-major order.
    #[inline]
    pub fn into_view(self) -> V {
        self.view
    }

    /// Converts the array into the view and the lengths.
    #[inline]
    pub fn into_parts(self) -> (V, D) {
        (self.view, self.dims)
    }

    /// Returns the same elements as an array of another shape.
    ///
    /// # Panics
    ///
    /// Panics with the [`ShapeError`] that [`try_reshape`](Self::try_reshape) returns.
    pub fn reshape<const N: usize>(self, dims: [usize; N]) -> NdView<V, [usize; N]> {
        self.try_reshape(dims).unwrap_or_else(|error| panic_with(&error))
    }

    /// Fallible version of [`reshape`](Self::reshape).
    ///
    /// # Errors
    ///
    /// [`ShapeError::LengthMismatch`] if the numbers of elements differ.
    pub fn try_reshape<const N: usize>(
        self,
        dims: [usize; N],
    ) -> Result<NdView<V, [usize; N]>, ShapeError> {
        NdView::new(self.view, dims)
    }
}

impl<V: PoolView, const N: usize> NdView<V, [usize; N]> {
    /// Returns the lengths along the axes, by value.
    #[inline]
    pub fn dims(&self) -> [usize; N] {
        self.dims
    }

    /// Returns the row-major strides, in elements. All strides are zero if an axis has length zero.
    pub fn strides(&self) -> [usize; N] {
        let mut strides = self.dims;
        turn_into_strides(&mut strides);
        strides
    }

    /// Splits along the first axis, into the rows before `index` and the rest.
    ///
    /// # Panics
    ///
    /// Panics with the [`ShapeError`] that [`try_split_at`](Self::try_split_at) returns.
    pub fn split_at(self, index: usize) -> (Self, Self) {
        self.try_split_at(index).unwrap_or_else(|error| panic_with(&error))
    }

    /// Fallible version of [`split_at`](Self::split_at).
    ///
    /// # Errors
    ///
    /// [`ShapeError::SplitOutOfRange`] if `index` is above the length of the first axis.
    pub fn try_split_at(self, index: usize) -> Result<(Self, Self), ShapeError> {
        let (extent, rest) = match self.dims.split_first() {
            Some((&extent, rest)) if index <= extent => (extent, rest),
            first => {
                let extent = first.map_or(0, |(&extent, _)| extent);
                return Err(ShapeError::SplitOutOfRange { asked: index, extent });
            }
        };
        // The product is not needed if the view is empty: neither side then has elements.
        let row = if self.view.is_empty() { 0 } else { rest.iter().product() };
        let (mut before, mut after) = (self.dims, self.dims);
        before[0] = index;
        after[0] = extent - index;
        let (left, right) = self.view.into_split_at(index * row)?;
        Ok((Self { view: left, dims: before }, Self { view: right, dims: after }))
    }
}

impl<'s, V: PoolView> NdView<V, DynamicShape<'s>> {
    /// Returns the shape and its strides, borrowed from the shape cache.
    pub fn dims(&self) -> DynamicShape<'s> {
        self.dims
    }

    /// Returns the row-major strides, in elements. All strides are zero if an axis has length zero.
    pub fn strides(&self) -> &'s [usize] {
        self.dims.strides()
    }
}
