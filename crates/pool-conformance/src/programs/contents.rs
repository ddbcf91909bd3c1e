//! The expected contents of blocks, restricted to the bytes that the pool guarantees. If a write
//! marks its slot, later reads of this slot return zeros in place of the bytes that were written.
//! The pool makes no guarantees about other bytes.

use std::collections::BTreeMap;
use std::ops::Range;

/// The expected contents of blocks, with block numbers as the keys. The model may forget contents
/// that it cannot observe, but it then checks fewer bytes.
#[derive(Debug)]
pub(super) enum Contents {
    /// Every view begins at the start of its block.
    Slots(BTreeMap<usize, SlotContents>),
    /// A view may begin anywhere in a block. For each block, the map contains the marked ranges
    /// that have not been read yet.
    Stack(BTreeMap<usize, Vec<Range<usize>>>),
}

/// The bytes that earlier uses left behind in a slot's block.
#[derive(Clone, Debug, Default)]
pub(super) struct SlotContents {
    /// The offset from the start of the block to the end of the marked bytes. A read that returns
    /// recycled contents resets this offset to 0.
    marked: usize,
    /// The marked bytes that a read has zeroed and that have not been written since then.
    zeroed: Range<usize>,
}

/// The bytes of a recycled view that must be zero. All offsets are relative to the start of the
/// view.
#[derive(Clone, Debug, Default)]
pub(super) struct Remains {
    zeros: Vec<Range<usize>>,
}

impl Contents {
    /// Creates empty expected contents for pools with slots or for pools with a stack.
    pub(super) const fn new(has_slots: bool) -> Self {
        if has_slots { Self::Slots(BTreeMap::new()) } else { Self::Stack(BTreeMap::new()) }
    }

    /// Records that an acquire requested a range of a block for writing.
    pub(super) fn write(&mut self, block: usize, asked: Range<usize>) {
        match self {
            Self::Slots(blocks) => {
                if let Some(slot) = blocks.get_mut(&block) {
                    slot.write(asked.end);
                }
            }
            // A dirty range is zeroed as a whole, including the bytes that were written without
            // marking the slot.
            Self::Stack(_) => {}
        }
    }

    /// Does the same as [`write`](Self::write), but for an acquire that marks its slot. The range
    /// starts at `offset`, and its first `written` bytes have been written.
    pub(super) fn mark(&mut self, block: usize, offset: usize, asked: usize, written: usize) {
        match self {
            Self::Slots(blocks) => {
                let slot = blocks.entry(block).or_default();
                slot.write(offset + asked);
                slot.marked = slot.marked.max(offset + written);
            }
            Self::Stack(blocks) => {
                blocks.entry(block).or_default().push(offset..offset + written);
            }
        }
    }

    /// Records that an acquire returned a range of a block with recycled contents. Returns the
    /// bytes in the range that must be zero.
    pub(super) fn read(&mut self, block: usize, range: Range<usize>) -> Remains {
        match self {
            Self::Slots(blocks) => {
                blocks.get_mut(&block).map(|slot| slot.read(range.end)).unwrap_or_default()
            }
            Self::Stack(blocks) => {
                let Some(marked) = blocks.get_mut(&block) else { return Remains::default() };
                let mut zeros = Vec::new();
                for dirty in std::mem::take(marked) {
                    let below = dirty.start..dirty.end.min(range.start);
                    let above = dirty.start.max(range.end)..dirty.end;
                    marked.extend([below, above].into_iter().filter(|part| !part.is_empty()));
                    let within = dirty.start.max(range.start)..dirty.end.min(range.end);
                    if !within.is_empty() {
                        zeros.push(within.start - range.start..within.end - range.start);
                    }
                }
                Remains { zeros }
            }
        }
    }

    /// Records a write to an unknown block.
    pub(super) fn lose_track(&mut self) {
        match self {
            Self::Slots(blocks) => blocks.values_mut().for_each(|slot| slot.zeroed = 0..0),
            // A dirty range remains dirty until it is read.
            Self::Stack(_) => {}
        }
    }
}

impl SlotContents {
    fn write(&mut self, asked: usize) {
        self.zeroed.start = self.zeroed.start.max(asked);
    }

    fn read(&mut self, length: usize) -> Remains {
        let zeros = Vec::from([0..self.marked, self.zeroed.clone()]);
        if self.marked > length {
            let further = if self.marked >= self.zeroed.start { self.zeroed.end } else { 0 };
            self.zeroed = length..self.marked.max(further);
        } else {
            self.write(length);
        }
        self.marked = 0;
        Remains { zeros }
    }
}

impl Remains {
    /// Returns `true` if at least one of the first `length` bytes must be zero.
    pub(super) fn has_zeros(&self, length: usize) -> bool {
        self.zeros.iter().any(|zeros| zeros.start < zeros.end.min(length))
    }

    /// Returns `true` if a read at `offset` in the view may return the given bytes.
    pub(super) fn allow(&self, offset: usize, bytes: &[u8]) -> bool {
        self.zeros.iter().all(|zeros| {
            let end = zeros.end.saturating_sub(offset).min(bytes.len());
            let start = zeros.start.saturating_sub(offset).min(end);
            // The entire range is compared at once because one large comparison is faster under
            // Miri than many small ones.
            bytes[start..end] == vec![0; end - start]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A simple model that stores a state for every byte.
    #[derive(Default)]
    struct Bytes {
        marked: usize,
        zeroed: Vec<bool>,
    }

    impl Bytes {
        fn write(&mut self, asked: usize) {
            self.zeroed.iter_mut().take(asked).for_each(|zeroed| *zeroed = false);
        }

        /// Returns `true` for each byte in the read range that must be zero.
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
            let mut contents = Contents::new(true);
            let mut bytes = Bytes { marked: 0, zeroed: vec![false; 24] };
            for _ in 0..40 {
                let length = below(24);
                match below(3) {
                    0 => {
                        contents.write(1, 0..length);
                        bytes.write(length);
                    }
                    1 => {
                        contents.mark(1, 0, length, length / 2);
                        bytes.write(length);
                        bytes.marked = bytes.marked.max(length / 2);
                    }
                    _ => {
                        let remains = contents.read(1, 0..length);
                        let zeroed = bytes.read(length);
                        // A byte may be nonzero only if the simple model does not require the byte
                        // to be zero.
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

    #[test]
    fn a_dirty_range_of_a_stack_is_zeros_once() {
        let mut contents = Contents::new(false);
        contents.mark(1, 64, 100, 100);
        let remains = contents.read(1, 128..256);
        assert!(remains.allow(0, &[0; 36]) && !remains.allow(35, &[1]) && remains.allow(36, &[1]));
        assert!(!contents.read(1, 128..256).has_zeros(128));
        assert!(contents.read(1, 64..128).has_zeros(1));
        assert!(!contents.read(2, 64..128).has_zeros(64));
    }
}
