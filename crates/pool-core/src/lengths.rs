//! Computes a shape's number of elements and its row-major strides. For a dynamic rank, the shape
//! cache stores the lengths and the strides, and arrays borrow both.

use alloc::vec::Vec;
use core::fmt;
use core::slice;

use crate::error::ShapeError;

/// The axis lengths and row-major strides of a shape of dynamic rank, stored in one allocation.
pub(crate) struct Lengths {
    /// The axis lengths, followed by the strides.
    lengths: Vec<usize>,
    /// The number of axes, which is half the number of entries in `lengths`.
    rank: usize,
}

impl Lengths {
    /// Allocates a list that contains the given lengths and the corresponding strides. If the host
    /// cannot allocate the list, the function returns the number of requested bytes.
    pub(crate) fn of(dims: &[usize]) -> Result<Self, usize> {
        let rank = dims.len();
        let mut lengths = Vec::new();
        lengths.try_reserve_exact(2 * rank).map_err(|_| 2 * size_of_val(dims))?;
        lengths.extend_from_slice(dims);
        lengths.extend_from_slice(dims);
        turn_into_strides(&mut lengths[rank..]);
        Ok(Self { lengths, rank })
    }

    #[inline(always)]
    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    #[inline(always)]
    pub(crate) fn dims(&self) -> &[usize] {
        // SAFETY: the list has `2 * rank` entries, and their number never changes. The axis lengths
        // are in the first half of the entries.
        unsafe { slice::from_raw_parts(self.lengths.as_ptr(), self.rank) }
    }

    #[inline(always)]
    fn strides(&self) -> &[usize] {
        // SAFETY: the list has `2 * rank` entries, so the offset `rank` is within the list's
        // allocation.
        let strides = unsafe { self.lengths.as_ptr().add(self.rank) };
        // SAFETY: the list has `2 * rank` entries, and their number never changes. The strides are
        // in the second half of the entries.
        unsafe { slice::from_raw_parts(strides, self.rank) }
    }
}

/// A shape of dynamic rank together with its row-major strides, both borrowed from a slot's shape
/// cache.
#[derive(Clone, Copy)]
pub struct DynamicShape<'s>(pub(crate) &'s Lengths);

impl<'s> DynamicShape<'s> {
    /// Returns the length of each axis, in elements.
    #[inline]
    #[must_use]
    pub fn dims(&self) -> &'s [usize] {
        self.0.dims()
    }

    /// Returns the stride of each axis, in elements. If any axis has length zero, all strides are
    /// zero.
    #[inline]
    #[must_use]
    pub fn strides(&self) -> &'s [usize] {
        self.0.strides()
    }
}

impl fmt::Debug for DynamicShape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamicShape")
            .field("dims", &self.dims())
            .field("strides", &self.strides())
            .finish()
    }
}

impl AsRef<[usize]> for DynamicShape<'_> {
    #[inline]
    fn as_ref(&self) -> &[usize] {
        self.dims()
    }
}

/// Returns the number of elements in an array of the given shape, if each element has
/// `element_size` bytes.
///
/// The product of the nonzero axis lengths must not exceed `isize::MAX`, either in elements or in
/// bytes. The product is checked even if an axis has length zero, so `[usize::MAX, 2, 0]` is an
/// error rather than an empty array.
///
/// # Errors
///
/// Returns [`ShapeError::Overflow`] if the product is too large.
#[inline]
pub fn element_count(dims: &[usize], element_size: usize) -> Result<usize, ShapeError> {
    let most = isize::MAX as usize / if element_size == 0 { 1 } else { element_size };
    let mut product = 1_usize;
    for &axis in dims {
        product = match product.checked_mul(axis) {
            Some(product) => product,
            None => return Err(overflow(dims.len(), element_size)),
        };
    }
    if product > most {
        return Err(overflow(dims.len(), element_size));
    }
    if product == 0 { empty_count(dims, element_size, most) } else { Ok(product) }
}

/// Handles the rare case in which an axis has length zero. Even if one axis has length zero, the
/// product of the other axis lengths must not overflow.
#[cold]
#[inline(never)]
fn empty_count(dims: &[usize], element_size: usize, most: usize) -> Result<usize, ShapeError> {
    dims.iter()
        .filter(|&&axis| axis != 0)
        .try_fold(1_usize, |product, &axis| product.checked_mul(axis))
        .filter(|&product| product <= most)
        .map(|_| 0)
        .ok_or_else(|| overflow(dims.len(), element_size))
}

#[cold]
fn overflow(rank: usize, element_size: usize) -> ShapeError {
    ShapeError::Overflow { rank, element_size }
}

/// Replaces each length with its row-major stride, in elements. If any axis has length zero, all
/// strides are zero.
#[inline]
pub(crate) fn turn_into_strides(lengths: &mut [usize]) {
    let mut stride = usize::from(!lengths.contains(&0));
    for length in lengths.iter_mut().rev() {
        let next = stride.saturating_mul(*length);
        *length = stride;
        stride = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_refuses() {
        assert_eq!(element_count(&[3, 4], 8), Ok(12));
        assert_eq!(element_count(&[], 8), Ok(1));
        assert_eq!(element_count(&[3, 0], 8), Ok(0));
        assert_eq!(element_count(&[0, 0, 0], 8), Ok(0));
        for dims in [[usize::MAX, 2, 0], [0, usize::MAX, 2], [2, 0, usize::MAX]] {
            assert_eq!(
                element_count(&dims, 1),
                Err(ShapeError::Overflow { rank: 3, element_size: 1 })
            );
        }
        let most = isize::MAX as usize;
        assert_eq!(element_count(&[most], 1), Ok(most));
        assert_eq!(element_count(&[most], 0), Ok(most));
        assert!(element_count(&[most], 2).is_err());
        assert!(element_count(&[most, 0], 2).is_err());
        assert!(element_count(&[most + 1], 0).is_err());
        assert!(element_count(&[usize::MAX], 0).is_err());
    }

    #[test]
    fn strides_are_row_major() {
        let mut lengths = [2, 3, 4];
        turn_into_strides(&mut lengths);
        assert_eq!(lengths, [12, 4, 1]);
        lengths = [2, 0, 4];
        turn_into_strides(&mut lengths);
        assert_eq!(lengths, [0, 0, 0]);
    }
}
