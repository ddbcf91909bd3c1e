//! Mirrors each set bit of a square matrix across the diagonal.
//!
//! The matrix is processed in squares of 64 rows, which are swapped across the diagonal. Mirroring
//! the bits one by one would access a different cache line for each bit. The rows are halved
//! recursively until only a few are left so that consecutive squares are likely to be in the cache.
//! Two threads can also work on parts of the matrix that have no rows in common.

use crate::tasks;

/// The number of squares up to which the rows are not halved again. The words of eight squares fill
/// one cache line.
const SQUARES_TOGETHER: usize = 8;

/// A range of rows in a square matrix.
struct Rows<'a> {
    words: &'a mut [u64],
    words_per_row: usize,
    /// The index of the first row, counted in squares of 64 rows.
    first: usize,
}

/// Mirrors each set bit of a square matrix across the diagonal, using up to `threads` threads. Each
/// row consists of `words_per_row` words. For each word in a row, there are 64 rows, or fewer for
/// the last word.
pub(crate) fn merge_transposed(words: &mut [u64], words_per_row: usize, threads: usize) {
    merge_diagonal(Rows { words, words_per_row, first: 0 }, threads);
}

/// Mirrors the bits of the given rows within the square that these rows form on the diagonal.
fn merge_diagonal(mut rows: Rows<'_>, threads: usize) {
    let count = rows.squares();
    if count > SQUARES_TOGETHER {
        let (mut one, mut other) = rows.halves();
        both(
            threads,
            |threads| merge_diagonal(one.again(), threads),
            |threads| merge_diagonal(other.again(), threads),
        );
        return merge_across(one, other, threads);
    }
    for square in 0..count {
        for other in square..count {
            let (one, two) =
                (rows.square(square, rows.first + other), rows.square(other, rows.first + square));
            rows.merge(other, rows.first + square, one);
            rows.merge(square, rows.first + other, two);
        }
    }
}

/// Copies the bits in one part's rows to the other part's columns, and vice versa.
fn merge_across(mut one: Rows<'_>, mut other: Rows<'_>, threads: usize) {
    if one.squares().max(other.squares()) > SQUARES_TOGETHER {
        let (mut one, mut two) = one.halves();
        let (mut three, mut four) = other.halves();
        both(
            threads,
            |threads| merge_across(one.again(), three.again(), threads),
            |threads| merge_across(two.again(), four.again(), threads),
        );
        return both(
            threads,
            |threads| merge_across(one, four, threads),
            |threads| merge_across(two, three, threads),
        );
    }
    for square in 0..one.squares() {
        for across in 0..other.squares() {
            let (there, back) = (
                one.square(square, other.first + across),
                other.square(across, one.first + square),
            );
            other.merge(across, one.first + square, there);
            one.merge(square, other.first + across, back);
        }
    }
}

/// Runs two functions and gives half of the threads to each. If there are several threads, the
/// functions run concurrently.
fn both(threads: usize, one: impl FnOnce(usize) + Send, other: impl FnOnce(usize) + Send) {
    if threads <= 1 {
        one(1);
        return other(1);
    }
    tasks::both(|| one(threads / 2), || other(threads - threads / 2));
}

impl Rows<'_> {
    /// Returns the number of squares in a column. The last square may contain fewer than 64 rows.
    fn squares(&self) -> usize {
        self.words.len().div_ceil(64 * self.words_per_row.max(1))
    }

    /// Reborrows the rows.
    fn again(&mut self) -> Rows<'_> {
        Rows { words: self.words, ..*self }
    }

    /// Returns the upper and lower halves of the rows.
    fn halves(&mut self) -> (Rows<'_>, Rows<'_>) {
        let upper = self.squares() / 2;
        let (words_per_row, first) = (self.words_per_row, self.first);
        let (words, others) = self.words.split_at_mut(upper * 64 * words_per_row);
        (
            Rows { words, words_per_row, first },
            Rows { words: others, words_per_row, first: first + upper },
        )
    }

    /// Returns one word from each of 64 rows. For row indices past the last row, the word is 0.
    fn square(&self, number: usize, word: usize) -> [u64; 64] {
        let rows = self.words[number * 64 * self.words_per_row..].chunks_exact(self.words_per_row);
        let mut square = [0; 64];
        square.iter_mut().zip(rows).for_each(|(to, row)| *to = row[word]);
        square
    }

    /// Sets the bits of one word in each of 64 rows. A bit is set if the transposed `square`
    /// contains it.
    fn merge(&mut self, number: usize, word: usize, square: [u64; 64]) {
        // If the rows and columns are sorted by time, all squares on one side of the diagonal
        // contain only zeros.
        if square.iter().all(|&word| word == 0) {
            return;
        }
        let square = transposed(square);
        let rows =
            self.words[number * 64 * self.words_per_row..].chunks_exact_mut(self.words_per_row);
        rows.zip(square).for_each(|(row, bits)| row[word] |= bits);
    }
}

/// Transposes a 64-by-64 square of bits. The function recursively swaps halves across the diagonal
/// (Warren, Hacker's Delight, section 7-3).
fn transposed(mut rows: [u64; 64]) -> [u64; 64] {
    let (mut half, mut low) = (32, u64::MAX >> 32);
    while half > 0 {
        for row in (0..64).filter(|row| row & half == 0) {
            let other = row + half;
            let exchanged = (rows[row] >> half ^ rows[other]) & low;
            rows[row] ^= exchanged << half;
            rows[other] ^= exchanged;
        }
        half /= 2;
        low ^= low << half;
    }
    rows
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::bits::BitMatrix;
    use crate::random::Random;

    #[test]
    fn a_matrix_merged_with_its_transposed_one_has_each_bit_on_both_sides() {
        let mut random = Random::new(7, 0, 0);
        // The last two sizes are large enough to use several threads.
        for (count, threads) in
            [(1, 1), (63, 1), (64, 1), (65, 2), (200, 1), (513, 1), (2_112, 2), (2_300, 3)]
        {
            let mut matrix = BitMatrix::new(count, count);
            let mut wanted = vec![BTreeSet::new(); count];
            for _ in 0..count * 2 {
                let (row, column) = (random.below(count), random.below(count));
                matrix.set(row, column);
                wanted[row].insert(column);
                wanted[column].insert(row);
            }
            matrix.merge_transposed(threads);
            for (row, wanted) in wanted.iter().enumerate() {
                assert!(matrix.columns(row).eq(wanted.iter().copied()), "row {row} of {count}");
            }
        }
    }
}
