//! State of a graph launch. It is a single operation of its stream, and its nodes run in a random
//! order.

use std::ops::Range;
use std::sync::Arc;

use super::memory::Piece;
use super::shadow::any_overlap;
use super::work::{Access, Unit};
use crate::kernel::Touched;
use crate::random::Random;

/// A graph launch in a queue.
#[derive(Debug)]
pub(crate) struct GraphRun {
    units: Vec<Unit>,
    /// For each node, the number of nodes that it still waits for.
    waiting: Vec<usize>,
    after: Vec<Vec<usize>>,
    ready: Vec<usize>,
    left: usize,
    /// For each node, the accesses that are known.
    touched: Vec<Vec<Touch>>,
    /// For each node, the nodes that precede it.
    ordered: Vec<Vec<bool>>,
}

/// Bytes of a block that a node has accessed.
#[derive(Clone, Debug)]
pub(crate) struct Touch {
    block: usize,
    ranges: Arc<[Range<usize>]>,
    writes: bool,
}

impl GraphRun {
    pub(in crate::world) fn new(
        units: Vec<Unit>,
        before: &[Vec<usize>],
        accesses: &[Vec<Access>],
        ordered: Vec<Vec<bool>>,
    ) -> Self {
        let touched = accesses.iter().map(|own| own.iter().map(touch).collect()).collect();
        let waiting: Vec<usize> = before.iter().map(Vec::len).collect();
        let mut after = vec![Vec::new(); units.len()];
        for (node, befores) in before.iter().enumerate() {
            for before in befores {
                after[*before].push(node);
            }
        }
        let ready = (0..units.len()).filter(|node| waiting[*node] == 0).collect();
        Self { left: units.len(), units, waiting, after, ready, touched, ordered }
    }

    /// Returns the number of kernels that have not run yet.
    pub(crate) fn kernels(&self) -> usize {
        self.units.iter().filter(|unit| matches!(unit, Unit::Kernel(_))).count()
    }

    /// Records the accesses of a kernel. Returns the unordered nodes with which they race.
    pub(crate) fn compare(&mut self, node: usize, touched: &[Touched]) -> Vec<String> {
        let mut own = Vec::new();
        for Touched { block, reads, writes } in touched {
            own.push(Touch { block: *block, ranges: Arc::clone(reads), writes: false });
            own.push(Touch { block: *block, ranges: Arc::clone(writes), writes: true });
        }
        let mut texts = Vec::new();
        for (other, theirs) in self.touched.iter().enumerate() {
            if other == node || self.ordered[node][other] || self.ordered[other][node] {
                continue;
            }
            let pairs = own.iter().flat_map(|one| theirs.iter().map(move |two| (one, two)));
            let race = |(one, two): &(&Touch, &Touch)| {
                one.block == two.block
                    && (one.writes || two.writes)
                    && any_overlap(&one.ranges, &two.ranges)
            };
            texts.extend(pairs.filter(race).map(|(one, _)| {
                let (first, second) = (node.min(other), node.max(other));
                format!(
                    "nodes {first} and {second} of one graph touch block {}, one of them a kernel, \
                     and no edge orders them",
                    one.block
                )
            }));
        }
        self.touched[node] = own;
        texts
    }

    /// Selects a node that can run, and returns it.
    pub(crate) fn draw(&mut self, random: &mut Random) -> Option<(usize, Unit)> {
        if self.ready.is_empty() {
            return None;
        }
        let node = self.ready.swap_remove(random.below(self.ready.len()));
        Some((node, std::mem::replace(&mut self.units[node], Unit::Nothing)))
    }

    /// Allows dependent nodes to run after the caller's current work.
    pub(crate) fn finish(&mut self, node: usize) {
        self.left -= 1;
        for after in std::mem::take(&mut self.after[node]) {
            self.waiting[after] -= 1;
            if self.waiting[after] == 0 {
                self.ready.push(after);
            }
        }
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.left == 0
    }

    /// Returns `true` if a host function may be selected next.
    pub(crate) fn calls_host(&self) -> bool {
        self.ready.iter().any(|node| matches!(self.units[*node], Unit::Host(_)))
    }
}

pub(in crate::world) fn range(piece: &Piece) -> Range<usize> {
    piece.start..piece.start + piece.len
}

pub(in crate::world) fn touch(access: &Access) -> Touch {
    let ranges = [range(&access.piece)].into();
    Touch { block: access.piece.block, ranges, writes: access.writes }
}
