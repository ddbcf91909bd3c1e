//! A matrix of bits.

use crate::transposed::merge_transposed;

/// The minimum size of a matrix, in words, for which a second thread is started. If the matrix is
/// smaller, the second thread starts too late to help.
const FEWEST_WORDS_SHARED: usize = 1 << 16;

/// The maximum number of threads. Any additional threads would only wait for the memory bus.
const MOST_THREADS: usize = 8;

/// A matrix of bits, stored row by row.
#[derive(Clone, Debug)]
pub(crate) struct BitMatrix {
    words_per_row: usize,
    words: Vec<u64>,
}

impl BitMatrix {
    /// Creates a matrix of zeros.
    pub(crate) fn new(rows: usize, columns: usize) -> Self {
        let words_per_row = columns.div_ceil(64);
        Self { words_per_row, words: vec![0; rows * words_per_row] }
    }

    /// Sets all bits to 0, reusing the matrix's allocation if it is large enough. All zeros are
    /// written explicitly. If a page is read before it is written to, a second page fault occurs
    /// and blocks all threads.
    pub(crate) fn clear(&mut self, rows: usize, columns: usize) {
        self.words_per_row = columns.div_ceil(64);
        self.words.clear();
        self.words.resize(rows * self.words_per_row, 0);
    }

    /// Returns the number of threads to start when each thread changes a separate part of the
    /// matrix. The result is at most `threads`.
    pub(crate) fn threads_of(&self, threads: usize) -> usize {
        if self.words.len() < FEWEST_WORDS_SHARED { 1 } else { threads.clamp(1, MOST_THREADS) }
    }

    /// Sets one bit.
    pub(crate) fn set(&mut self, row: usize, column: usize) {
        self.words[row * self.words_per_row + column / 64] |= 1 << (column % 64);
    }

    /// Returns the words that store the given row.
    pub(crate) fn row(&self, row: usize) -> &[u64] {
        &self.words[row * self.words_per_row..(row + 1) * self.words_per_row]
    }

    /// Returns the words that store the given row, as a mutable slice.
    pub(crate) fn row_mut(&mut self, row: usize) -> &mut [u64] {
        &mut self.words[row * self.words_per_row..(row + 1) * self.words_per_row]
    }

    /// Splits the matrix's columns into up to `count` parts.
    pub(crate) fn parts(&mut self, count: usize) -> Vec<Columns<'_>> {
        let words = self.words_per_row.div_ceil(count).max(1);
        let count = self.words_per_row.div_ceil(words);
        let mut parts: Vec<Columns<'_>> =
            (0..count).map(|part| Columns { first: part * words, rows: Vec::new() }).collect();
        for row in self.words.chunks_exact_mut(self.words_per_row.max(1)) {
            parts.iter_mut().zip(row.chunks_mut(words)).for_each(|(part, row)| part.rows.push(row));
        }
        parts
    }

    /// Sets every bit of row `into` that is set in row `from`.
    pub(crate) fn merge_row(&mut self, into: usize, from: usize) {
        for word in 0..self.words_per_row {
            let bits = self.words[from * self.words_per_row + word];
            self.words[into * self.words_per_row + word] |= bits;
        }
    }

    /// Mirrors each set bit of a square matrix across the diagonal, using up to `threads` threads.
    pub(crate) fn merge_transposed(&mut self, threads: usize) {
        let threads = self.threads_of(threads);
        merge_transposed(&mut self.words, self.words_per_row, threads);
    }

    /// Returns the number of set bits in a row.
    pub(crate) fn count(&self, row: usize) -> u64 {
        self.row(row).iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Returns the column indices of a row's set bits in ascending order.
    pub(crate) fn columns(&self, row: usize) -> impl Iterator<Item = usize> + Clone + '_ {
        ones(self.row(row))
    }
}

/// A range of columns in a matrix.
#[derive(Debug)]
pub(crate) struct Columns<'a> {
    /// The index of the part's first word within each row.
    first: usize,
    rows: Vec<&'a mut [u64]>,
}

impl Columns<'_> {
    /// Returns the part's first column.
    pub(crate) fn first(&self) -> usize {
        self.first * 64
    }

    /// Returns the exclusive end of the part's column range, which may lie past the matrix's last
    /// column.
    pub(crate) fn end(&self) -> usize {
        (self.first + self.rows.first().map_or(0, |row| row.len())) * 64
    }

    /// Returns `count` words of a row, starting at a column that is a multiple of 64.
    pub(crate) fn words_mut(&mut self, row: usize, column: usize, count: usize) -> &mut [u64] {
        &mut self.rows[row][column / 64 - self.first..][..count]
    }
}

/// Returns the positions of all set bits in `words` in ascending order.
pub(crate) fn ones(words: &[u64]) -> impl Iterator<Item = usize> + Clone + '_ {
    words.iter().enumerate().flat_map(|(position, &word)| {
        std::iter::successors((word != 0).then_some(word), |&rest| {
            let rest = rest & (rest - 1);
            (rest != 0).then_some(rest)
        })
        .map(move |rest| position * 64 + rest.trailing_zeros() as usize)
    })
}
