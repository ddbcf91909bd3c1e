//! The one compare of an acquire, and the size of the block that makes it succeed. Both use the
//! same formula, so a length that fitted once always fits again.

/// Bytes in a word, the unit of the advertised capacity.
pub(super) const WORD: usize = 8;

/// Returns `true` if `length` elements of `T` fit `advertised` words. The compare is strict, so 0
/// words never fit. It adds nothing to `length` and multiplies it with nothing, so it cannot wrap.
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

/// Returns the bytes of the smallest block that `length` elements of `size` bytes fit by [`fits`],
/// rounded up to `align`; 0 for no bytes; `None` above `isize::MAX`.
pub(crate) const fn block_bytes(length: usize, size: usize, align: usize) -> Option<usize> {
    if length == 0 || size == 0 {
        return Some(0);
    }
    // One more than the compare's left side, times the divisor of the right side.
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

/// Rounds `bytes` up to a multiple of `align`, a power of two; `None` above `isize::MAX`.
pub(super) const fn round_up(bytes: usize, align: usize) -> Option<usize> {
    match bytes.checked_add(align - 1) {
        Some(sum) if sum <= isize::MAX as usize => Some(sum & !(align - 1)),
        _ => None,
    }
}

/// Returns the elements of `T` that a block must have room for, so that `length` of them fit from
/// an aligned address of the block on. An element whose alignment is above `align`, that of blocks,
/// is at least as large as the bytes before that address.
#[inline(always)]
pub(super) const fn padded<T>(length: usize, align: usize) -> usize {
    if align_of::<T>() <= align || size_of::<T>() == 0 || length == 0 {
        return length;
    }
    // At the end of the range it fits no block in any case.
    length.saturating_add(1)
}

/// Returns `true` if one or several elements of `size` bytes fill a word without a gap.
const fn divides_word(size: usize) -> bool {
    size <= WORD && WORD % size == 0
}

/// Returns the words that the compare counts for one element.
const fn words_of_element(size: usize) -> usize {
    size.div_ceil(WORD)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<const SIZE: usize>() {
        // Every capacity up to the needed one is tried, which takes Miri long for long lengths.
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
