//! A stable sort of indices, ordered by the number assigned to each index. The sort takes linear
//! time and checks the clock regularly.
//!
//! Up to a million buffers are sorted by 11-bit digits. Digits that are the same in all numbers are
//! skipped. A comparison sort would take several times as long and could not be interrupted.

use crate::work::Watch;

/// The number of bits in a digit.
const DIGIT: u32 = 11;
/// The number of different values that a digit can have.
const VALUES: usize = 1 << DIGIT;
/// The bit mask that extracts the lowest digit.
const MASK: u64 = VALUES as u64 - 1;
/// The maximum number of items for which a comparison sort is faster.
const FEW: usize = 1 << 9;

/// Maps a signed number to an unsigned one, preserving the order.
pub(crate) fn unsigned(number: i64) -> u64 {
    number.abs_diff(i64::MIN)
}

/// Sorts items by their assigned numbers in ascending order. The sort is stable. If `watch` stops
/// the sort, returns `false` and leaves the items in an arbitrary order.
pub(crate) fn sort_by_number(
    items: &mut [u32],
    number: impl Fn(u32) -> u64,
    watch: &Watch<'_>,
) -> bool {
    if items.len() <= FEW {
        items.sort_by_key(|&item| number(item));
        return watch.count(items.len());
    }
    let mut pairs: Vec<(u64, u32)> = items.iter().map(|&item| (number(item), item)).collect();
    let is_sorted = pairs.is_sorted_by(|one, other| one.0 <= other.0);
    if !watch.count(2 * items.len()) || is_sorted {
        return is_sorted;
    }
    let Some((first, _)) = pairs.first().copied() else { return true };
    let differing = pairs.iter().fold(0, |bits, pair| bits | (pair.0 ^ first));
    let mut sorted = pairs.clone();
    for shift in (0..u64::BITS).step_by(DIGIT as usize) {
        if differing >> shift & MASK == 0 {
            continue;
        }
        if !watch.count(2 * items.len()) {
            return false;
        }
        sort_by_digit(&pairs, shift, &mut sorted);
        std::mem::swap(&mut pairs, &mut sorted);
    }
    items.iter_mut().zip(&pairs).for_each(|(item, pair)| *item = pair.1);
    true
}

/// Sorts the pairs by one digit in a single stable pass.
// Uncounted: the loop needs no counter because `sort_by_number` counts each pass.
fn sort_by_digit(pairs: &[(u64, u32)], shift: u32, into: &mut [(u64, u32)]) {
    let digit = |pair: &(u64, u32)| usize::try_from(pair.0 >> shift & MASK).unwrap_or(0);
    let mut places = [0_usize; VALUES];
    pairs.iter().for_each(|pair| places[digit(pair)] += 1);
    let mut sum = 0;
    for place in &mut places {
        sum += std::mem::replace(place, sum);
    }
    for pair in pairs {
        let place = &mut places[digit(pair)];
        into[*place] = *pair;
        *place += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::{FEW, sort_by_number, unsigned};
    use crate::random::Random;
    use crate::work::Watch;

    #[test]
    fn sorts_as_the_standard_library_does() {
        let watch = Watch::new(&|| true);
        let most = if cfg!(miri) { 700 } else { 3_000 };
        for seed in 0..if cfg!(miri) { 3 } else { 60 } {
            let mut random = Random::new(seed, 0, 0);
            let count = random.below(most).max(if seed % 2 == 0 { FEW + 1 } else { 1 });
            let bits = random.below(64);
            let numbers: Vec<u64> = (0..count).map(|_| random.next() >> bits).collect();
            let mut items: Vec<u32> = (0..).take(count).collect();
            items.sort_by_cached_key(|_| random.next());
            let mut expected = items.clone();
            expected.sort_by_key(|&item| numbers[item as usize]);
            assert!(sort_by_number(&mut items, |item| numbers[item as usize], &watch));
            assert_eq!(items, expected, "seed {seed}");
        }
    }

    #[test]
    fn signed_numbers_keep_their_order() {
        let numbers = [i64::MIN, -7, -1, 0, 1, 9, i64::MAX];
        assert!(numbers.map(unsigned).is_sorted());
    }

    #[test]
    fn a_sort_that_is_not_needed_stops() {
        let watch = Watch::new(&|| false);
        let mut items: Vec<u32> = (0..2_000).collect();
        assert!(!sort_by_number(&mut items, |item| u64::from(!item), &watch));
    }
}
