//! A set of small numbers. A search for the next member reads only a few words of memory. Level 0
//! stores one bit for each number. Each of the two summary levels marks the nonzero words of the
//! level below it.

const BITS: usize = u64::BITS as usize;

/// A set of numbers below a bound of at most 64³.
#[derive(Debug)]
pub(super) struct Bitmap {
    /// One bit for each number below the bound, followed by the bits of two summary levels. Each
    /// bit of a summary level marks a nonzero word of the level below.
    levels: [Vec<u64>; 3],
}

impl Bitmap {
    /// Creates an empty set of numbers below `bound`.
    pub(super) fn new(bound: usize) -> Self {
        let words = bound.div_ceil(BITS);
        let groups = words.div_ceil(BITS);
        Self { levels: [vec![0; words], vec![0; groups], vec![0; groups.div_ceil(BITS)]] }
    }

    pub(super) fn insert(&mut self, member: usize) {
        let mut place = member;
        for level in &mut self.levels {
            level[place / BITS] |= 1 << (place % BITS);
            place /= BITS;
        }
    }

    pub(super) fn remove(&mut self, member: usize) {
        let mut place = member;
        for level in &mut self.levels {
            level[place / BITS] &= !(1 << (place % BITS));
            if level[place / BITS] != 0 {
                return;
            }
            place /= BITS;
        }
    }

    /// Returns the smallest member that is at least `from`.
    pub(super) fn at_least(&self, from: usize) -> Option<usize> {
        if let Some(member) = self.in_word(0, from) {
            return Some(member);
        }
        let next = from / BITS + 1;
        let word = match self.in_word(1, next) {
            Some(word) => word,
            None => self.in_word(1, self.in_word(2, next / BITS + 1)? * BITS)?,
        };
        self.in_word(0, word * BITS)
    }

    /// Searches one word of a level for its smallest member that is at least `from`.
    fn in_word(&self, level: usize, from: usize) -> Option<usize> {
        let word = self.levels[level].get(from / BITS)? & (u64::MAX << (from % BITS));
        (word != 0).then(|| from / BITS * BITS + word.trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Bitmap;

    #[test]
    fn agrees_with_an_ordered_set() {
        let bound = 65_537;
        let (mut bitmap, mut set) = (Bitmap::new(bound), BTreeSet::new());
        let mut place = 1_usize;
        for _ in 0..if cfg!(miri) { 10 } else { 400 } {
            place = (place * 48_271 + 11) % bound;
            if set.insert(place) {
                bitmap.insert(place);
            } else {
                assert!(set.remove(&place));
            }
            if !set.contains(&place) {
                bitmap.remove(place);
            }
            for from in [0, place, place + 1, place / 2, bound - 1, bound, bound + 64] {
                assert_eq!(bitmap.at_least(from), set.range(from..).next().copied());
            }
        }
        for member in set {
            bitmap.remove(member);
        }
        assert_eq!(bitmap.at_least(0), None);
    }

    #[test]
    fn ends_of_words_and_levels() {
        let mut bitmap = Bitmap::new(65_537);
        for member in [63, 64, 4095, 4096, 65_535, 65_536] {
            bitmap.insert(member);
            assert_eq!(bitmap.at_least(0), Some(member));
            assert_eq!(bitmap.at_least(member), Some(member));
            assert_eq!(bitmap.at_least(member + 1), None);
            bitmap.remove(member);
            assert_eq!(bitmap.at_least(0), None);
        }
    }
}
