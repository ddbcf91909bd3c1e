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

    /// The columns that are set in a row, ascending.
    pub(crate) fn columns(&self, row: usize) -> impl Iterator<Item = usize> + Clone + '_ {
        ones(self.row(row))
    }
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
