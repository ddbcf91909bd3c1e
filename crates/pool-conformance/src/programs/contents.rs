//! What blocks hold that no view is of, as far as the pool promises anything: the bytes that uses which mark have
//! written are zeros for the next use that reads, and nothing is said of all others.

use std::collections::BTreeMap;
use std::ops::Range;

/// The contents of blocks, by the blocks' numbers. What the model does not see it may forget: it then demands less.
#[derive(Debug, Default)]
pub(super) struct Contents {
    blocks: BTreeMap<usize, Remains>,
}

/// What former uses of a block left behind.
#[derive(Clone, Debug, Default)]
pub(super) struct Remains {
    /// So many bytes at the start were written by uses that mark, since the block was last read recycled.
    marked: usize,
    /// Bytes that were zeroed with the last mark, and not written since.
    zeroed: Range<usize>,
}

impl Contents {
    /// Of a block, the first `asked` bytes were asked for, to be written.
    pub(super) fn write(&mut self, block: usize, asked: usize) {
        if let Some(remains) = self.blocks.get_mut(&block) {
            remains.write(asked);
        }
    }

    /// As [`write`](Self::write), by a use that marks; the first `written` bytes were written.
    pub(super) fn mark(&mut self, block: usize, asked: usize, written: usize) {
        let remains = self.blocks.entry(block).or_default();
        remains.write(asked);
        remains.marked = remains.marked.max(written);
    }

    /// Of a block, the first `length` bytes are read recycled; what they were before.
    pub(super) fn read(&mut self, block: usize, length: usize) -> Remains {
        self.blocks.get_mut(&block).map(|remains| remains.read(length)).unwrap_or_default()
    }

    /// Some block was written, and nobody knows which.
    pub(super) fn lose_track(&mut self) {
        for remains in self.blocks.values_mut() {
            remains.zeroed = 0..0;
        }
    }
}

impl Remains {
    fn write(&mut self, asked: usize) {
        self.zeroed.start = self.zeroed.start.max(asked);
    }

    fn read(&mut self, length: usize) -> Self {
        let before = self.clone();
        if self.marked > length {
            let further = if self.marked >= self.zeroed.start { self.zeroed.end } else { 0 };
            self.zeroed = length..self.marked.max(further);
        } else {
            self.write(length);
        }
        self.marked = 0;
        before
    }

    /// Whether a use that reads must find zeros in the first `length` bytes.
    pub(super) fn has_zeros(&self, length: usize) -> bool {
        [0..self.marked, self.zeroed.clone()]
            .iter()
            .any(|zeros| zeros.start < zeros.end.min(length))
    }

    /// Whether these bytes, at `offset` of the block, may be what is read.
    pub(super) fn allow(&self, offset: usize, bytes: &[u8]) -> bool {
        [0..self.marked, self.zeroed.clone()].into_iter().all(|zeros| {
            let end = zeros.end.saturating_sub(offset).min(bytes.len());
            let start = zeros.start.saturating_sub(offset).min(end);
            // Compared in one piece, which takes Miri no time.
            bytes[start..end] == vec![0; end - start]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The model, as it would be with a state for every byte.
    #[derive(Default)]
    struct Bytes {
        marked: usize,
        zeroed: Vec<bool>,
    }

    impl Bytes {
        fn write(&mut self, asked: usize) {
            self.zeroed.iter_mut().take(asked).for_each(|zeroed| *zeroed = false);
        }

        /// Which bytes must be zeros, of those that are read.
        fn read(&mut self, length: usize) -> Vec<bool> {
            self.zeroed.iter_mut().take(self.marked).for_each(|zeroed| *zeroed = true);
            let found = self.zeroed[..length].to_vec();
            self.marked = 0;
            self.write(length);
            found
        }
    }

    #[test]
    fn remains_are_what_a_model_of_every_byte_says() {
        let mut state = 7_u32;
        let mut below = |end: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((state >> 16) % end) as usize
        };
        for _ in 0..if cfg!(miri) { 3 } else { 300 } {
            let mut contents = Contents::default();
            let mut bytes = Bytes { marked: 0, zeroed: vec![false; 24] };
            for _ in 0..40 {
                let length = below(24);
                match below(3) {
                    0 => {
                        contents.write(1, length);
                        bytes.write(length);
                    }
                    1 => {
                        contents.mark(1, length, length / 2);
                        bytes.write(length);
                        bytes.marked = bytes.marked.max(length / 2);
                    }
                    _ => {
                        let remains = contents.read(1, length);
                        let zeroed = bytes.read(length);
                        // A byte that is not zero is allowed where, and only where, nothing is promised.
                        for (offset, &zeroed) in zeroed.iter().enumerate() {
                            assert!(remains.allow(offset, &[0]));
                            if !zeroed {
                                assert!(remains.allow(offset, &[1]), "demands too much");
                            }
                        }
                        let prefix = zeroed.iter().take_while(|&&zeroed| zeroed).count();
                        assert!((0..prefix).all(|offset| !remains.allow(offset, &[1])));
                        assert_eq!(remains.has_zeros(length), zeroed.contains(&true));
                    }
                }
            }
        }
    }
}
