//! Defines the single comparison that an acquire method performs, and computes the size of the
//! smallest block that passes this comparison. The comparison and the size use the same formula, so
//! a block that was sized for a length always passes the comparison for that length.

/// The number of bytes in a word, which is the unit of the advertised capacity.
pub(super) const WORD: usize = 8;

/// Returns `true` if `length` elements of `T` fit in `advertised` words. The comparison is strict,
/// so not even zero elements fit in 0 words. The comparison cannot overflow, because it neither
/// adds to `length` nor multiplies it.
#[inline(always)]
pub(super) const fn fits<T>(length: usize, advertised: usize) -> bool {
    let size = size_of::<T>();
    if size == 0 {
        return advertised != 0;
    }
    if divides_word(size) {
        length / (WORD / size) < advertised
    } else {
        length < advertised / words_of_element(size)
    }
}

/// Returns the size, in bytes, of the smallest block that can hold `length` elements of `size`
/// bytes according to [`fits`]. The size is rounded up to a multiple of `align`. Returns 0 if the
/// elements occupy no bytes, and `None` if the size exceeds `isize::MAX`.
pub(crate) const fn block_bytes(length: usize, size: usize, align: usize) -> Option<usize> {
    if length == 0 || size == 0 {
        return Some(0);
    }
    // The comparison in `fits` is strict. The block therefore has room for one additional word, or
    // for one additional element if a word does not contain a whole number of elements.
    let (counted, factor) = if divides_word(size) {
        (length / (WORD / size), 1)
    } else {
        (length, words_of_element(size))
    };
    let Some(one_more) = counted.checked_add(1) else { return None };
    let Some(words) = one_more.checked_mul(factor) else { return None };
    match words.checked_mul(WORD) {
        Some(bytes) => round_up(bytes, align),
        None => None,
    }
}

/// Rounds `bytes` up to a multiple of `align`, which must be a power of two. Returns `None` if the
/// result exceeds `isize::MAX`.
pub(super) const fn round_up(bytes: usize, align: usize) -> Option<usize> {
    match bytes.checked_add(align - 1) {
        Some(sum) if sum <= isize::MAX as usize => Some(sum & !(align - 1)),
        _ => None,
    }
}

/// Returns how many elements of `T` a block must hold to guarantee room for `length` aligned
/// elements. The elements start at the first address in the block that is aligned for `T`. One
/// additional element suffices, because an element whose alignment exceeds `align` is at least as
/// large as the gap before the first aligned address. `align` is the alignment of blocks.
#[inline(always)]
pub(super) const fn padded<T>(length: usize, align: usize) -> usize {
    if align_of::<T>() <= align || size_of::<T>() == 0 || length == 0 {
        return length;
    }
    // If the length saturates, the elements do not fit in any block, with or without the additional
    // element.
    length.saturating_add(1)
}

/// Returns `true` if a word contains a whole number of elements of `size` bytes.
const fn divides_word(size: usize) -> bool {
    size <= WORD && WORD % size == 0
}

/// Returns the number of words that `fits` counts for each element.
const fn words_of_element(size: usize) -> usize {
    size.div_ceil(WORD)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<const SIZE: usize>() {
        // Under Miri, trying every capacity up to the required one is slow if the length is large.
        let (few, long): (_, &[usize]) =
            if cfg!(miri) { (20, &[257]) } else { (200, &[1_000, 4_095, 4_096, 65_537]) };
        let lengths = (0..few).chain(long.iter().copied());
        for length in lengths {
            let bytes = block_bytes(length, SIZE, 64).unwrap();
            if length == 0 || SIZE == 0 {
                assert_eq!(bytes, 0);
                continue;
            }
            assert!(bytes >= length * SIZE && bytes % 64 == 0, "{length} of {SIZE}");
            assert!(fits::<[u8; SIZE]>(length, bytes / WORD), "{length} of {SIZE}");
            for advertised in 0..=(bytes / WORD) {
                if fits::<[u8; SIZE]>(length, advertised) {
                    assert!(advertised * WORD >= length * SIZE, "{length} of {SIZE}");
                }
            }
        }
        for length in [usize::MAX, usize::MAX - 1, usize::MAX / 2 + 1, isize::MAX as usize] {
            if SIZE > 0 {
                assert!(!fits::<[u8; SIZE]>(length, isize::MAX as usize / WORD));
            }
            assert_eq!(block_bytes(length, SIZE, 64).is_none(), SIZE > 0);
        }
        assert!(!fits::<[u8; SIZE]>(0, 0));
    }

    #[test]
    fn lengths_near_usize_max_release_build() {
        check::<0>();
        check::<1>();
        check::<2>();
        check::<3>();
        check::<4>();
        check::<5>();
        check::<6>();
        check::<7>();
        check::<8>();
        check::<9>();
        check::<12>();
        check::<16>();
        check::<24>();
    }
}
