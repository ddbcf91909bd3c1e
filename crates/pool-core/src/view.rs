//! Defines the view traits, which allow code that is generic over the backend to lend, split, read,
//! and write views.
//!
//! Importing these traits never shadows a slice method. Only `len` and `is_empty` have the same
//! names as slice methods, and both return the same results as those methods.

use alloc::vec::Vec;
use core::error::Error;
use core::ops::{Bound, RangeBounds};

use crate::element::{Element, PodElement};
use crate::error::{ShapeError, ViewError, panic_with};
use crate::nd_array::NdView;

/// A sequence of acquired elements to which the caller has exclusive or shared access.
///
/// Views of host memory are plain slices, so all slice methods are available. This trait is
/// intended for code that is generic over the backend. The [`LendView`] trait lends a view or a
/// part of a view, and the [`PoolViewMut`] trait writes to a view.
///
/// ```
/// use pool_core::{LendView, PoolBackend, PoolView, PoolViewMut, Scope};
///
/// /// Swaps the halves of `numbers`, and returns the last element on the host.
/// fn halves<B: PoolBackend>(
///     scope: &Scope<'_, B>,
///     mut numbers: B::View<'_, f32>,
/// ) -> Result<f32, Box<dyn std::error::Error>> {
///     let half = numbers.len() / 2;
///     let mut first = scope.try_acquire::<f32, _>(half)?;
///     first.copy_from(numbers.part(..half)?)?;
///     {
///         let (mut left, mut right) = numbers.reborrow().into_split_at(half)?;
///         left.copy_from(right.as_view())?;
///         right.copy_from(first.as_view())?;
///     }
///     Ok(numbers.part(2 * half - 1..)?.copy_to_vec()?[0])
/// }
///
/// # use pool_conformance::HeapBackend as Memory;
/// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
/// let scope = pool.scope();
/// let mut numbers = scope.acquire_from(&[1.0, 2.0, 3.0, 4.0]);
/// assert_eq!(halves::<Memory>(&scope, numbers.reborrow())?, 2.0);
/// assert_eq!(numbers, [3.0, 4.0, 1.0, 2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Functions that are generic over the backend should take a view by value if they write to it.
/// Callers of such functions should lend the view with [`reborrow`](LendView::reborrow). If a
/// parameter has the type `&mut B::View<'_, T>`, the compiler assumes that all views of `B` have
/// the same lifetime as that view. If such a function uses `?` on part of a view that it has
/// acquired, the compiler reports that the view "does not live long enough":
///
/// ```
/// use pool_core::{LendView, PoolBackend, PoolView, PoolViewMut, Scope};
///
/// fn begin<B: PoolBackend>(
///     scope: &Scope<'_, B>,
///     mut numbers: B::View<'_, f32>, // not `numbers: &mut B::View<'_, f32>`
/// ) -> Result<usize, Box<dyn std::error::Error>> {
///     let own = scope.try_acquire_zeroed::<f32, _>(4)?;
///     let part = own.part(..2)?;
///     numbers.fill_with_value(1.0)?;
///     Ok(part.len())
/// }
///
/// # use pool_conformance::HeapBackend as Memory;
/// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
/// # let mut numbers = [0.0; 3];
/// let scope = pool.scope();
/// assert_eq!(begin::<Memory>(&scope, (&mut numbers[..]).reborrow())?, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait PoolView: Sized {
    /// The type of the view's elements.
    type Element;

    /// The error returned if the view's contents cannot be read or written.
    type Error: Error + From<ShapeError> + Send + Sync + 'static;

    /// Returns the number of elements in the view.
    fn len(&self) -> usize;

    /// Returns `true` if the view has no elements.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Splits the view into the first `index` elements and the remaining elements.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeError::SplitOutOfRange`] if `index` is greater than the view's length.
    fn into_split_at(self, index: usize) -> Result<(Self, Self), ShapeError>;

    /// Returns a part of the view with the same lifetime as the view itself.
    ///
    /// # Errors
    ///
    /// Returns [`ShapeError::PartOutOfRange`] if the range is out of bounds.
    fn into_part(self, range: impl RangeBounds<usize>) -> Result<Self, ShapeError> {
        let (start, end) = within(&range, self.len())?;
        let (before, _) = self.into_split_at(end)?;
        let (_, part) = before.into_split_at(start)?;
        Ok(part)
    }

    /// Copies the elements to the host once all previously enqueued work on them has finished.
    ///
    /// # Errors
    ///
    /// Returns an error if `destination` has a different length or if the memory cannot be read.
    fn copy_to_host(&self, destination: &mut [Self::Element]) -> Result<(), Self::Error>
    where
        Self::Element: PodElement;

    /// Copies the elements to a vector on the host once all previously enqueued work on them has
    /// finished.
    ///
    /// # Errors
    ///
    /// Returns an error if the host cannot allocate the vector or if the view's memory cannot be
    /// read.
    fn copy_to_vec(&self) -> Result<Vec<Self::Element>, Self::Error>
    where
        Self::Element: PodElement;

    /// Returns the elements as an array of the given shape, in row-major order.
    ///
    /// # Panics
    ///
    /// Panics with the [`ShapeError`] that [`try_reshape`](Self::try_reshape) would return.
    fn reshape<const N: usize>(self, dims: [usize; N]) -> NdView<Self, [usize; N]> {
        self.try_reshape(dims).unwrap_or_else(|error| panic_with(&error))
    }

    /// The fallible version of [`reshape`](Self::reshape).
    ///
    /// # Errors
    ///
    /// Returns [`ShapeError::LengthMismatch`] if the shape and the view have different numbers of
    /// elements.
    fn try_reshape<const N: usize>(
        self,
        dims: [usize; N],
    ) -> Result<NdView<Self, [usize; N]>, ShapeError> {
        let length = self.len();
        NdView::checked(self, length, size_of::<Self::Element>(), dims)
    }
}

/// A view whose elements can be written, such as a backend's [`View`](crate::PoolBackend::View)
/// type.
///
/// Writes made with these methods take effect once all work previously enqueued on the elements has
/// finished. Work enqueued on the elements after a write runs after that write.
/// [`PoolBackend`](crate::PoolBackend) guarantees the same order for writes made by acquires.
pub trait PoolViewMut: PoolView + for<'a> LendView<'a> {
    /// Sets all elements to the given value.
    ///
    /// # Errors
    ///
    /// Returns an error if the backend cannot enqueue the write.
    fn fill_with_value(&mut self, value: Self::Element) -> Result<(), Self::Error>
    where
        Self::Element: Element;

    /// Sets all bytes of the elements to zero.
    ///
    /// # Errors
    ///
    /// Returns an error if the backend cannot enqueue the write.
    fn fill_with_zeros(&mut self) -> Result<(), Self::Error>
    where
        Self::Element: Element;

    /// Copies the elements of a host slice into this view. The caller may reuse `source` as soon as
    /// this method returns.
    ///
    /// # Errors
    ///
    /// Returns an error if `source` has a different length or if the backend cannot copy the
    /// elements.
    fn copy_from_host(&mut self, source: &[Self::Element]) -> Result<(), Self::Error>
    where
        Self::Element: Element;

    /// Copies the elements of another view into this view. The other view can belong to another
    /// pool. The copy runs after all work that was previously enqueued on the source view.
    ///
    /// If the source outlives this view, generic code should pass a [loan](LendView::as_view) of
    /// the source.
    ///
    /// # Errors
    ///
    /// Returns an error if `source` has a different length or if the backend cannot copy the
    /// elements.
    fn copy_from<'a>(&mut self, source: <Self as LendView<'a>>::Shared) -> Result<(), Self::Error>
    where
        Self: 'a,
        Self::Element: Element;
}

/// Lends a view, or a part of a view, for the lifetime `'a`.
///
/// This trait is separate from [`PoolView`] because the lifetime must be a parameter of the trait.
/// If `PoolView` had an associated type `Shared<'a>`, this type would require `where Self: 'a`. A
/// `for<'a>` bound on the type would then force every view to be `'static`. The `Bound` parameter
/// is always `&'a Self`. The parameter limits the trait bound to lifetimes that do not outlast the
/// view.
///
/// A view cannot be used while it is lent:
///
/// ```compile_fail,E0499
/// # use pool_core::{LendView, PoolBackend, ShapeError};
/// fn twice<B: PoolBackend>(view: &mut B::View<'_, f32>) -> Result<(), ShapeError> {
///     let first = view.part_mut(..1)?;
///     let second = view.part_mut(1..)?; // two_exclusive_parts
///     drop((first, second));
///     Ok(())
/// }
/// ```
///
/// ```compile_fail,E0502
/// # use pool_core::{LendView, PoolBackend};
/// fn both<B: PoolBackend>(view: &mut B::View<'_, f32>) {
///     let shared = view.as_view();
///     let exclusive = view.reborrow(); // shared_and_exclusive
///     drop((shared, exclusive));
/// }
/// ```
///
/// ```compile_fail,E0621
/// # use pool_core::{LendView, PoolBackend};
/// fn longer<'s, B: PoolBackend>(view: &mut B::View<'s, f32>) -> B::View<'s, f32> {
///     view.reborrow() // longer_than_its_loan
/// }
/// ```
///
/// To write two parts of a view at the same time, call [`into_split_at`](PoolView::into_split_at)
/// on a reborrowed view.
pub trait LendView<'a, Bound = &'a Self>: PoolView {
    /// The type of a shared view, which is a backend's [`ViewRef`](crate::PoolBackend::ViewRef)
    /// type.
    type Shared: PoolView<Element = Self::Element, Error = Self::Error>;

    /// The backend's [`View`](crate::PoolBackend::View) or [`ViewRef`](crate::PoolBackend::ViewRef)
    /// type, whichever has the same access as this view.
    type Same: PoolView<Element = Self::Element, Error = Self::Error>;

    /// Lends the view's elements for reading.
    fn as_view(&'a self) -> Self::Shared;

    /// Lends the view's elements with the same access as this view.
    fn reborrow(&'a mut self) -> Self::Same;

    /// Lends a range of the elements for reading.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`into_part`](PoolView::into_part).
    fn part(&'a self, range: impl RangeBounds<usize>) -> Result<Self::Shared, ShapeError> {
        self.as_view().into_part(range)
    }

    /// Lends a range of the elements with the same access as this view.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`into_part`](PoolView::into_part).
    fn part_mut(&'a mut self, range: impl RangeBounds<usize>) -> Result<Self::Same, ShapeError> {
        self.reborrow().into_part(range)
    }
}

/// Returns a range's start and exclusive end.
fn within(range: &impl RangeBounds<usize>, extent: usize) -> Result<(usize, usize), ShapeError> {
    let start = match range.start_bound() {
        Bound::Included(&start) => Some(start),
        Bound::Excluded(&before) => before.checked_add(1),
        Bound::Unbounded => Some(0),
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.checked_add(1),
        Bound::Excluded(&end) => Some(end),
        Bound::Unbounded => Some(extent),
    };
    // A range bound that does not fit in a `usize` is greater than every length.
    let (start, end) = (start.unwrap_or(usize::MAX), end.unwrap_or(usize::MAX));
    if start <= end && end <= extent {
        Ok((start, end))
    } else {
        Err(ShapeError::PartOutOfRange { start, end, extent })
    }
}

/// Implements the parts of the view traits that are the same for shared and exclusive slices.
macro_rules! slice_view {
    () => {
        type Element = T;
        type Error = ViewError;

        fn len(&self) -> usize {
            <[T]>::len(self)
        }

        fn copy_to_host(&self, destination: &mut [T]) -> Result<(), ViewError>
        where
            T: PodElement,
        {
            check_lengths(<[T]>::len(self), destination.len())?;
            destination.copy_from_slice(self);
            Ok(())
        }

        fn copy_to_vec(&self) -> Result<Vec<T>, ViewError>
        where
            T: PodElement,
        {
            let mut elements = Vec::new();
            let reserved = elements.try_reserve_exact(<[T]>::len(self));
            reserved.map_err(|_| ViewError::Bookkeeping { requested: size_of_val(&**self) })?;
            elements.extend_from_slice(self);
            Ok(elements)
        }
    };
}

impl<T> PoolView for &mut [T] {
    slice_view!();

    fn into_split_at(self, index: usize) -> Result<(Self, Self), ShapeError> {
        let length = <[T]>::len(self);
        self.split_at_mut_checked(index)
            .ok_or(ShapeError::SplitOutOfRange { asked: index, extent: length })
    }
}

impl<T> PoolView for &[T] {
    slice_view!();

    fn into_split_at(self, index: usize) -> Result<(Self, Self), ShapeError> {
        self.split_at_checked(index)
            .ok_or(ShapeError::SplitOutOfRange { asked: index, extent: <[T]>::len(self) })
    }
}

impl<T> PoolViewMut for &mut [T] {
    fn fill_with_value(&mut self, value: T) -> Result<(), ViewError>
    where
        T: Element,
    {
        self.fill(value);
        Ok(())
    }

    fn fill_with_zeros(&mut self) -> Result<(), ViewError>
    where
        T: Element,
    {
        self.fill(T::zeroed());
        Ok(())
    }

    fn copy_from_host(&mut self, source: &[T]) -> Result<(), ViewError>
    where
        T: Element,
    {
        check_lengths(source.len(), <[T]>::len(self))?;
        self.copy_from_slice(source);
        Ok(())
    }

    fn copy_from<'a>(&mut self, source: &'a [T]) -> Result<(), ViewError>
    where
        Self: 'a,
        T: Element,
    {
        self.copy_from_host(source)
    }
}

impl<'a, T> LendView<'a> for &mut [T] {
    type Shared = &'a [T];
    type Same = &'a mut [T];

    fn as_view(&'a self) -> &'a [T] {
        self
    }

    fn reborrow(&'a mut self) -> &'a mut [T] {
        self
    }
}

impl<'a, T> LendView<'a> for &[T] {
    type Shared = &'a [T];
    type Same = &'a [T];

    fn as_view(&'a self) -> &'a [T] {
        self
    }

    fn reborrow(&'a mut self) -> &'a [T] {
        self
    }
}

fn check_lengths(from: usize, to: usize) -> Result<(), ViewError> {
    if from == to { Ok(()) } else { Err(ShapeError::CopyMismatch { from, to }.into()) }
}

#[cfg(test)]
mod tests {
    use super::within;
    use crate::error::ShapeError;
    use core::ops::Bound;

    #[test]
    fn ranges_are_within_or_refused_with_their_ends() {
        assert_eq!(within(&(..), 3), Ok((0, 3)));
        assert_eq!(within(&(1..=2), 3), Ok((1, 3)));
        assert_eq!(within(&(3..), 3), Ok((3, 3)));
        assert_eq!(within(&(Bound::Excluded(0), Bound::Excluded(2)), 3), Ok((1, 2)));
        let refused = |start, end| Err(ShapeError::PartOutOfRange { start, end, extent: 3 });
        assert_eq!(within(&(Bound::Included(2), Bound::Excluded(1)), 3), refused(2, 1));
        assert_eq!(within(&(4..), 3), refused(4, 3));
        assert_eq!(within(&(..4), 3), refused(0, 4));
        assert_eq!(within(&(..=usize::MAX), 3), refused(0, usize::MAX));
        assert_eq!(
            within(&(Bound::Excluded(usize::MAX), Bound::Unbounded), 3),
            refused(usize::MAX, 3)
        );
    }
}
