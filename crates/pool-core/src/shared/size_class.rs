//! Defines the size classes of blocks. Each doubling of the size is divided into eight classes so
//! that a block exceeds its array's size by at most an eighth.
//!
//! Sizes are counted in units of 64 bytes. Blocks of class 0 are empty, and blocks of classes 1 to
//! 8 have one to eight units. For larger sizes, a block of class `8 s + m` has `m << s` units,
//! where `m` ranges from 9 to 16.

/// The size in bytes of the smallest block.
pub(super) const UNIT: usize = 64;

/// The number of classes into which each doubling of the size is divided. Each number of units up
/// to `CLASSES_PER_DOUBLING` has its own class.
pub(super) const CLASSES_PER_DOUBLING: usize = 8;

/// Returns the class of the smallest block that holds `bytes` bytes.
#[inline]
pub(super) const fn class_of(bytes: usize) -> usize {
    let units = bytes.div_ceil(UNIT);
    if units <= CLASSES_PER_DOUBLING {
        return units;
    }
    let last = units - 1;
    let shift = (last.ilog2() - CLASSES_PER_DOUBLING.ilog2()) as usize;
    CLASSES_PER_DOUBLING * shift + (last >> shift) + 1
}

/// Returns the size in bytes of blocks in the given class. Returns `None` if the size exceeds
/// `isize::MAX`.
pub(super) const fn class_bytes(class: usize) -> Option<usize> {
    if class <= CLASSES_PER_DOUBLING {
        return Some(class * UNIT);
    }
    let above = class - CLASSES_PER_DOUBLING - 1;
    let bytes = (CLASSES_PER_DOUBLING + 1 + above % CLASSES_PER_DOUBLING) * UNIT;
    let shift = above / CLASSES_PER_DOUBLING;
    if shift >= bytes.leading_zeros() as usize { None } else { Some(bytes << shift) }
}

/// Returns the highest class whose arrays all fit in a block of `bytes` bytes.
pub(super) const fn class_within(bytes: usize) -> usize {
    let class = class_of(bytes);
    match class_bytes(class) {
        Some(whole) if whole <= bytes => class,
        _ => class - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns test lengths around each power of two and many lengths in between.
    fn lengths() -> impl Iterator<Item = usize> {
        let most = if cfg!(miri) { 300 } else { 70_000 };
        let edges = (7..usize::BITS - 1).flat_map(|bit| {
            let power = 1_usize << bit;
            [power - 1, power, power + 1, power + power / 3]
        });
        (0..most).chain(edges).filter(|&bytes| bytes <= isize::MAX as usize / 2)
    }

    #[test]
    fn a_class_holds_its_bytes_and_wastes_at_most_an_eighth() {
        for bytes in lengths() {
            let class = class_of(bytes);
            let held = class_bytes(class).unwrap();
            assert!(held >= bytes, "{bytes} in class {class} of {held}");
            assert!(held <= bytes.next_multiple_of(UNIT) / 8 * 9 + UNIT, "{bytes} in {held}");
            assert!(class == 0 || class_bytes(class - 1).unwrap() < bytes, "{bytes}: {class}");
        }
    }

    #[test]
    fn all_arrays_of_the_class_within_a_block_fit_it() {
        for bytes in lengths().filter(|&bytes| bytes > 0) {
            let class = class_within(bytes);
            assert!(class_bytes(class).unwrap() <= bytes, "{bytes}");
            assert!(class_bytes(class + 1).unwrap() > bytes, "{bytes}");
        }
    }

    #[test]
    fn no_class_has_more_bytes_than_an_address_space() {
        let last = class_of(isize::MAX as usize);
        assert!(class_bytes(last).is_none_or(|bytes| bytes <= isize::MAX as usize));
        assert_eq!(class_bytes(last + 9), None);
    }
}
