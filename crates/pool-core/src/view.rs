//! What views are to code that is generic over the backend: how long they are, what they are lent as, the parts of
//! them, and what is in them.
//!
//! But for `len` and `is_empty`, which say the same of a slice, no name of these traits is one of a slice's own methods:
//! where they are in scope, slices are what they were.

use alloc::vec::Vec;
use core::error::Error;
use core::ops::{Bound, RangeBounds};

use crate::element::{Element, PodElement};
use crate::error::{ShapeError, ViewError};

/// A run of elements that acquire handed out, or a shared look at one.
///
/// Host views are plain slices and have all that slices have; this trait is for code that is
/// generic over the backend. [`LendView`] is what any view is lent as, [`PoolViewMut`] and [`CopyView`] write.
///
/// ```
/// use pool_core::{CopyView, LendView, LendViewMut, PoolBackend, PoolView, Scope};
///
/// /// The halves of `numbers` exchanged, and the last element on the host.
/// fn halves<B: PoolBackend>(
///     scope: &Scope<'_, B>,
///     numbers: &mut B::View<'_, f32>,
/// ) -> Result<f32, Box<dyn std::error::Error>> {
///     let half = numbers.len() / 2;
///     let mut first = scope.try_acquire::<f32, _>(half)?;
///     first.try_copy_from(numbers.try_part(..half)?)?;
///     {
///         let (mut left, mut right) = numbers.reborrow().try_split_at(half)?;
///         left.try_copy_from(right.as_view())?;
///         right.try_copy_from(first.as_view())?;
///     }
///     Ok(numbers.try_part(2 * half - 1..)?.try_to_vec()?[0])
/// }
///
/// # use pool_conformance::HeapBackend as Memory;
/// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
/// let scope = pool.scope();
/// let mut numbers = scope.acquire_from(&[1.0, 2.0, 3.0, 4.0]);
/// assert_eq!(halves(&scope, &mut numbers)?, 2.0);
/// assert_eq!(numbers, [3.0, 4.0, 1.0, 2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A function that is generic over the backend best takes the views that it writes by value, lent to it by
/// [`reborrow`](LendViewMut::reborrow). With a parameter `&mut B::View<'_, T>` the compiler takes it that all views of
/// `B` live as long as that one, and where such a function also takes a part of a view that it has acquired itself, and
/// asks for it by `?`, the view "does not live long enough":
///
/// ```
/// use pool_core::{LendView, LendViewMut, PoolBackend, PoolView, PoolViewMut, Scope};
///
/// fn begin<B: PoolBackend>(
///     scope: &Scope<'_, B>,
///     mut numbers: B::View<'_, f32>, // not `numbers: &mut B::View<'_, f32>`
/// ) -> Result<usize, Box<dyn std::error::Error>> {
///     let own = scope.try_acquire_zeroed::<f32, _>(4)?;
///     let part = own.try_part(..2)?;
///     numbers.try_fill(1.0)?;
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
    /// The element type.
    type Element;

    /// Why what is in a view cannot be read or written.
    type Error: Error + From<ShapeError> + 'static;

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

    /// The part of a view that a range of elements says, for as long as the view would have lived.
    ///
    /// # Errors
    ///
    /// [`ShapeError::PartOutOfRange`] where the range is not within the view.
    fn try_into_part(self, range: impl RangeBounds<usize>) -> Result<Self, ShapeError> {
        let (start, end) = within(&range, self.len())?;
        let (before, _) = self.try_split_at(end)?;
        let (_, part) = before.try_split_at(start)?;
        Ok(part)
    }

    /// Copies the elements to the host, once all is done that was enqueued on them before.
    ///
    /// # Errors
    ///
    /// Where `destination` has another length, and where the memory cannot be read.
    fn try_copy_to_host(&self, destination: &mut [Self::Element]) -> Result<(), Self::Error>
    where
        Self::Element: PodElement;

    /// The elements on the host, once all is done that was enqueued on them before.
    ///
    /// # Errors
    ///
    /// Where the host has no memory for them, and where the memory cannot be read.
    fn try_to_vec(&self) -> Result<Vec<Self::Element>, Self::Error>
    where
        Self::Element: PodElement;
}

/// A view that writes: what a backend's [`View`](crate::PoolBackend::View) is.
///
/// What these methods write takes effect after all work that was enqueued on the elements before, and before all
/// that is enqueued on them afterwards, as [`PoolBackend`](crate::PoolBackend) says it of acquires.
pub trait PoolViewMut: PoolView {
    /// Sets all elements to a value.
    ///
    /// # Errors
    ///
    /// Where the backend cannot do it.
    fn try_fill(&mut self, value: Self::Element) -> Result<(), Self::Error>
    where
        Self::Element: Element;

    /// Sets all bytes to zero.
    ///
    /// # Errors
    ///
    /// Where the backend cannot do it.
    fn try_zero(&mut self) -> Result<(), Self::Error>
    where
        Self::Element: Element;

    /// Copies as many elements from the host. They have left `source` when this returns.
    ///
    /// # Errors
    ///
    /// Where `source` has another length, and where the backend cannot do it.
    fn try_copy_from_host(&mut self, source: &[Self::Element]) -> Result<(), Self::Error>
    where
        Self::Element: Element;
}

/// What a view is lent as for `'a`: a shared view of it, or of a part.
///
/// The parameter `Bound` is always `&'a Self`: it says that `'a` is a time at which the view exists.
pub trait LendView<'a, Bound = &'a Self>: PoolView {
    /// The shared view: a backend's [`ViewRef`](crate::PoolBackend::ViewRef).
    type Shared: PoolView<Element = Self::Element, Error = Self::Error>;

    /// The same elements, to be read.
    fn as_view(&'a self) -> Self::Shared;

    /// Some of the elements, to be read.
    ///
    /// # Errors
    ///
    /// As [`try_into_part`](PoolView::try_into_part).
    fn try_part(&'a self, range: impl RangeBounds<usize>) -> Result<Self::Shared, ShapeError> {
        self.as_view().try_into_part(range)
    }
}

/// What a view that writes is lent as for `'a`.
///
/// The parameter `Bound` is that of [`LendView`]. As long as a loan is in use, the view is not:
///
/// ```compile_fail,E0499
/// # use pool_core::{LendViewMut, PoolBackend, ShapeError};
/// fn twice<B: PoolBackend>(view: &mut B::View<'_, f32>) -> Result<(), ShapeError> {
///     let first = view.try_part_mut(..1)?;
///     let second = view.try_part_mut(1..)?; // two_exclusive_parts
///     drop((first, second));
///     Ok(())
/// }
/// ```
///
/// ```compile_fail,E0502
/// # use pool_core::{LendView, LendViewMut, PoolBackend};
/// fn both<B: PoolBackend>(view: &mut B::View<'_, f32>) {
///     let shared = view.as_view();
///     let exclusive = view.reborrow(); // shared_and_exclusive
///     drop((shared, exclusive));
/// }
/// ```
///
/// ```compile_fail,E0621
/// # use pool_core::{LendViewMut, PoolBackend};
/// fn longer<'s, B: PoolBackend>(view: &mut B::View<'s, f32>) -> B::View<'s, f32> {
///     view.reborrow() // longer_than_its_loan
/// }
/// ```
///
/// [`try_split_at`](PoolView::try_split_at) of a loan is how two parts are written at once.
pub trait LendViewMut<'a, Bound = &'a Self>: LendView<'a, Bound> + PoolViewMut {
    /// The exclusive view: a backend's [`View`](crate::PoolBackend::View).
    type Exclusive: PoolView<Element = Self::Element, Error = Self::Error>;

    /// The same elements, to be written.
    fn reborrow(&'a mut self) -> Self::Exclusive;

    /// Some of the elements, to be written.
    ///
    /// # Errors
    ///
    /// As [`try_into_part`](PoolView::try_into_part).
    fn try_part_mut(
        &'a mut self,
        range: impl RangeBounds<usize>,
    ) -> Result<Self::Exclusive, ShapeError> {
        self.reborrow().try_into_part(range)
    }
}

/// A view that copies the elements of others: of a backend's [`ViewRef`](crate::PoolBackend::ViewRef)s, of any pool.
///
/// The copy has what `source` holds after all that was enqueued on it before, and is ordered as what
/// [`PoolViewMut`] writes.
pub trait CopyView<Source>: PoolViewMut {
    /// Copies as many elements of another view.
    ///
    /// # Errors
    ///
    /// Where `source` has another length, and where the backend cannot do it.
    fn try_copy_from(&mut self, source: Source) -> Result<(), Self::Error>
    where
        Self::Element: Element;
}

/// The first element of a range and the one behind its last.
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
    // A bound that no `usize` says is above every length.
    let (start, end) = (start.unwrap_or(usize::MAX), end.unwrap_or(usize::MAX));
    if start <= end && end <= extent {
        Ok((start, end))
    } else {
        Err(ShapeError::PartOutOfRange { start, end, extent })
    }
}

/// What both kinds of slices have as views.
macro_rules! slice_view {
    () => {
        type Element = T;
        type Error = ViewError;

        fn len(&self) -> usize {
            <[T]>::len(self)
        }

        fn try_copy_to_host(&self, destination: &mut [T]) -> Result<(), ViewError>
        where
            T: PodElement,
        {
            check_lengths(<[T]>::len(self), destination.len())?;
            destination.copy_from_slice(self);
            Ok(())
        }

        fn try_to_vec(&self) -> Result<Vec<T>, ViewError>
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

    fn try_split_at(self, index: usize) -> Result<(Self, Self), ShapeError> {
        let length = <[T]>::len(self);
        self.split_at_mut_checked(index)
            .ok_or(ShapeError::SplitOutOfRange { asked: index, extent: length })
    }
}

impl<T> PoolView for &[T] {
    slice_view!();

    fn try_split_at(self, index: usize) -> Result<(Self, Self), ShapeError> {
        self.split_at_checked(index)
            .ok_or(ShapeError::SplitOutOfRange { asked: index, extent: <[T]>::len(self) })
    }
}

impl<T> PoolViewMut for &mut [T] {
    fn try_fill(&mut self, value: T) -> Result<(), ViewError>
    where
        T: Element,
    {
        self.fill(value);
        Ok(())
    }

    fn try_zero(&mut self) -> Result<(), ViewError>
    where
        T: Element,
    {
        self.fill(T::zeroed());
        Ok(())
    }

    fn try_copy_from_host(&mut self, source: &[T]) -> Result<(), ViewError>
    where
        T: Element,
    {
        check_lengths(source.len(), <[T]>::len(self))?;
        self.copy_from_slice(source);
        Ok(())
    }
}

impl<'a, T> LendView<'a> for &mut [T] {
    type Shared = &'a [T];

    fn as_view(&'a self) -> &'a [T] {
        self
    }
}

impl<'a, T> LendView<'a> for &[T] {
    type Shared = &'a [T];

    fn as_view(&'a self) -> &'a [T] {
        self
    }
}

impl<'a, T> LendViewMut<'a> for &mut [T] {
    type Exclusive = &'a mut [T];

    fn reborrow(&'a mut self) -> &'a mut [T] {
        self
    }
}

impl<'a, T> CopyView<&'a [T]> for &mut [T] {
    fn try_copy_from(&mut self, source: &'a [T]) -> Result<(), ViewError>
    where
        T: Element,
    {
        self.try_copy_from_host(source)
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
