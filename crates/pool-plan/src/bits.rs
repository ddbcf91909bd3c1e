//! A matrix of bits.

/// Rows of bits.
#[derive(Clone, Debug)]
pub(crate) struct BitMatrix {
    words_per_row: usize,
    words: Vec<u64>,
}

impl BitMatrix {
    /// A matrix of zeros.
    pub(crate) fn new(rows: usize, columns: usize) -> Self {
        let words_per_row = columns.div_ceil(64);
        Self { words_per_row, words: vec![0; rows * words_per_row] }
    }

    /// Sets a bit.
    pub(crate) fn set(&mut self, row: usize, column: usize) {
        self.words[row * self.words_per_row + column / 64] |= 1 << (column % 64);
    }

    /// The words of a row.
    pub(crate) fn row(&self, row: usize) -> &[u64] {
        &self.words[row * self.words_per_row..(row + 1) * self.words_per_row]
    }

    /// The words of a row, to be changed.
    pub(crate) fn row_mut(&mut self, row: usize) -> &mut [u64] {
        &mut self.words[row * self.words_per_row..(row + 1) * self.words_per_row]
    }

    /// Sets in row `into` what is set in row `from`.
    pub(crate) fn merge_row(&mut self, into: usize, from: usize) {
        for word in 0..self.words_per_row {
            let bits = self.words[from * self.words_per_row + word];
            self.words[into * self.words_per_row + word] |= bits;
        }
    }

    /// Sets, in a square matrix, the bit on the other side of the diagonal of each that is set.
    ///
    /// Squares of 64 rows are exchanged at a time: bit by bit, each would be in another line of the cache.
    pub(crate) fn merge_transposed(&mut self) {
        for square in 0..self.words_per_row {
            for other in square..self.words_per_row {
                let (one, two) = (self.square(square, other), self.square(other, square));
                self.merge_square(other, square, &transposed(one));
                self.merge_square(square, other, &transposed(two));
            }
        }
    }

    /// The words at one position of 64 rows, of which those behind the last are 0.
    fn square(&self, of_rows: usize, word: usize) -> [u64; 64] {
        let rows = self.words.chunks_exact(self.words_per_row).skip(of_rows * 64);
        let mut square = [0; 64];
        square.iter_mut().zip(rows).for_each(|(to, row)| *to = row[word]);
        square
    }

    /// Sets at one position of 64 rows what is set in `square`.
    fn merge_square(&mut self, of_rows: usize, word: usize, square: &[u64; 64]) {
        let rows = self.words.chunks_exact_mut(self.words_per_row).skip(of_rows * 64);
        rows.zip(square).for_each(|(row, bits)| row[word] |= bits);
    }

    /// How many columns are set in a row.
    pub(crate) fn count(&self, row: usize) -> u64 {
        self.row(row).iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// The columns that are set in a row, ascending.
    pub(crate) fn columns(&self, row: usize) -> impl Iterator<Item = usize> + Clone + '_ {
        ones(self.row(row))
    }
}

/// The columns of 64 rows of 64 bits as rows: halves are exchanged across the diagonal, and so on in each (Warren,
/// Hacker's Delight, section 7-3).
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

/// The positions of the bits that are set in `words`, ascending.
pub(crate) fn ones(words: &[u64]) -> impl Iterator<Item = usize> + Clone + '_ {
    words.iter().enumerate().flat_map(|(position, &word)| {
        std::iter::successors((word != 0).then_some(word), |&rest| {
            let rest = rest & (rest - 1);
            (rest != 0).then_some(rest)
        })
        .map(move |rest| position * 64 + rest.trailing_zeros() as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::BitMatrix;
    use crate::random::Random;

    #[test]
    fn a_matrix_merged_with_its_transposed_one_has_each_bit_on_both_sides() {
        let mut random = Random::new(7, 0, 0);
        for count in [1, 63, 64, 65, 200] {
            let mut matrix = BitMatrix::new(count, count);
            let pairs: Vec<(usize, usize)> =
                (0..count * 2).map(|_| (random.below(count), random.below(count))).collect();
            pairs.iter().for_each(|&(row, column)| matrix.set(row, column));
            matrix.merge_transposed();
            for row in 0..count {
                let is_set = |&column: &usize| {
                    pairs.contains(&(row, column)) || pairs.contains(&(column, row))
                };
                let wanted: Vec<usize> = (0..count).filter(is_set).collect();
                assert_eq!(matrix.columns(row).collect::<Vec<_>>(), wanted, "row {row} of {count}");
            }
        }
    }
}
