//! Summaries of blocks of consecutive values. A change to a value invalidates only the summary of
//! its block. The summary is recomputed when it is next needed.

use std::ops::Range;

use crate::work::Work;

/// The minimum base-2 logarithm of a block's length.
const LEAST_LOG: u32 = 4;

/// The summaries of blocks of consecutive values. A block's length is about the square root of the
/// number of values.
#[derive(Debug)]
pub(super) struct Blocks<S> {
    /// The base-2 logarithm of a block's length.
    log: u32,
    /// Each block's summary, or `None` if a value has changed since the summary was computed.
    summaries: Vec<Option<S>>,
}

impl<S: Copy> Blocks<S> {
    /// Creates the blocks for a number of values without computing any summary.
    pub(super) fn new(count: usize) -> Self {
        let log = (count.max(1).ilog2() / 2).max(LEAST_LOG);
        Self { log, summaries: vec![None; (count >> log) + 1] }
    }

    /// Records that the value at `position` has changed.
    pub(super) fn change(&mut self, position: usize) {
        self.summaries[position >> self.log] = None;
    }

    /// Calls `visit` with consecutive parts of a range of positions and their summaries. Each part
    /// lies within one block. `summarize` computes the summary of a part.
    pub(super) fn visit(
        &mut self,
        range: Range<usize>,
        work: &Work,
        summarize: impl Fn(Range<usize>) -> S,
        mut visit: impl FnMut(S, Range<usize>),
    ) {
        let mut start = range.start;
        while start < range.end {
            work.count(1);
            let block = start >> self.log;
            let (begin, end) = (block << self.log, (block + 1) << self.log);
            let part = start..end.min(range.end);
            start = part.end;
            let summarize = || {
                work.count(part.len());
                summarize(part.clone())
            };
            let is_whole = part.start == begin && part.end == end;
            let summary = if is_whole {
                *self.summaries[block].get_or_insert_with(summarize)
            } else {
                summarize()
            };
            visit(summary, part);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::Blocks;
    use crate::random::Random;
    use crate::work::Work;

    #[test]
    fn a_summary_includes_every_change() {
        for seed in 0..50 {
            let mut random = Random::new(seed, 0, 0);
            let mut values: Vec<usize> = (0..1 + random.below(3_000)).collect();
            let mut blocks = Blocks::new(values.len());
            for _ in 0..100 {
                for _ in 0..random.below(8) {
                    let position = random.below(values.len());
                    values[position] = random.below(5_000);
                    blocks.change(position);
                }
                let start = random.below(values.len());
                let range = start..start + 1 + random.below(values.len() - start);
                let (work, mut most, mut next) = (Work::default(), 0, start);
                let of = |range: Range<usize>| values[range].iter().copied().max().unwrap_or(0);
                blocks.visit(range.clone(), &work, of, |summary, part| {
                    assert_eq!(part.start, next, "the parts are consecutive");
                    (most, next) = (most.max(summary), part.end);
                });
                assert_eq!((next, most), (range.end, of(range)), "seed {seed}");
            }
        }
    }
}
