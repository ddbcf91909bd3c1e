//! What every view can tell and do, whatever its memory: how long the view is, and where it splits.

use alloc::vec::Vec;

use crate::error::ShapeError;

/// A run of elements that acquire handed out, or a shared look at one.
///
/// Host views are plain slices and have all that slices have; this trait is for code that is
/// generic over the backend.
pub trait PoolView: Sized {
    /// The element type.
    type Element;

    /// The number of elements.
    fn len(&self) -> usize;

    /// Whether there are no elements.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Splits into the first `index` elements and the rest.
    ///
    /// # Errors
    ///
    /// [`ShapeError::SplitOutOfRange`] where `index` is above the length.
    fn try_split_at(self, index: usize) -> Result<(Self, Self), ShapeError>;
}

impl<T> PoolView for &mut [T] {
    type Element = T;

    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn try_split_at(self, index: usize) -> Result<(Self, Self), ShapeError> {
        let length = <[T]>::len(self);
        self.split_at_mut_checked(index)
            .ok_or(ShapeError::SplitOutOfRange { asked: index, extent: length })
    }
}

impl<T> PoolView for &[T] {
    type Element = T;

    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn try_split_at(self, index: usize) -> Result<(Self, Self), ShapeError> {
        self.split_at_checked(index)
            .ok_or(ShapeError::SplitOutOfRange { asked: index, extent: <[T]>::len(self) })
    }
}

/// A length to copy for `acquire_like`: that of a view, an array, a slice or a vector.
pub trait Extent {
    /// The number of elements.
    fn extent(&self) -> usize;
}

impl<T> Extent for [T] {
    fn extent(&self) -> usize {
        self.len()
    }
}

impl<T> Extent for Vec<T> {
    fn extent(&self) -> usize {
        self.len()
    }
}

impl<V: PoolView> Extent for V {
    fn extent(&self) -> usize {
        self.len()
    }
}
