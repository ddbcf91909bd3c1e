//! The validation of graph plans, based on reachability. For each buffer, the validator walks the
//! graph backward from the buffer's alloc marker. The validator handles up to 1,024 buffers at a
//! time. If two buffers share bytes, the walk from one of them must reach every use of the other.
//!
//! If two buffers share bytes, at most one of them can be finished before the other begins because
//! the graph has no cycles. It is therefore sufficient to count pairs of buffers. Consider the
//! buffers that share bytes with a given buffer. If the number of ordered pairs equals the number
//! of these buffers, they are all ordered relative to the given buffer. The validator stores no
//! pairs, so its memory use grows linearly with the size of the problem.

use super::ends::{PlacedBuffer, ends};
use super::witness::{self, Witnessed};
use crate::graph::{Edge, EdgeKind, GraphBuffer, Role};
use crate::violation::Violation;

/// Returns the peak of a plan that places buffer `i` at `offsets[i]`. The peak is the offset just
/// past the highest byte that any buffer occupies.
///
/// # Errors
/// Returns the first violation that the validator finds.
pub(crate) fn peak(
    edges: &[Edge],
    buffers: &[GraphBuffer],
    offsets: &[u64],
) -> Result<u64, Violation> {
    if offsets.len() != buffers.len() {
        let (offsets, buffers) = (offsets.len(), buffers.len());
        return Err(Violation::WrongLength { offsets, buffers });
    }
    let ends = ends(buffers.iter().zip(offsets).map(|(buffer, &offset)| PlacedBuffer {
        size: buffer.size,
        alignment: buffer.alignment,
        fixed: buffer.offset,
        offset,
    }))?;
    let range = |(index, &start): (usize, &u64)| Range { index, start, end: ends[index] };
    let placed: Vec<Range> = offsets.iter().enumerate().map(range).collect();
    check_sharing(edges, buffers, &placed)?;
    Ok(ends.into_iter().max().unwrap_or(0))
}

/// Returns the given buffers' total size in bytes. The size is a lower bound on the peak of every
/// plan because no two of these buffers may share bytes.
///
/// # Errors
///
/// Fails if an index belongs to no buffer. The function also fails if two of the buffers may share
/// bytes because one of them is finished before the other begins.
pub(crate) fn witnessed(
    edges: &[Edge],
    buffers: &[GraphBuffer],
    some: &[usize],
) -> Result<u64, Violation> {
    let edges = Edges::of(edges);
    let (mut markers, mut witness) = (Vec::new(), Vec::new());
    let mut seen = vec![false; buffers.len()];
    for &index in some {
        let one = buffers.get(index).ok_or(Violation::NoSuchBuffer { buffer: index })?;
        if std::mem::replace(&mut seen[index], true) {
            return Err(Violation::Ordered { first: index, second: index });
        }
        markers.push(edges.markers(one));
        witness.push(Witnessed { size: one.size, alignment: one.alignment, fixed: one.offset });
    }
    let words = (WORDS_AT_A_TIME / edges.joined.len().max(1)).clamp(1, MOST_WORDS);
    for first in (0..some.len()).step_by(64 * words) {
        let later = first..some.len().min(first + 64 * words);
        let ancestors = edges.ancestors(&markers[later.clone()]);
        for (bit, later) in later.enumerate() {
            let is_before = |one: &usize| markers[*one].are_in(&ancestors, bit);
            if let Some(earlier) = (0..some.len()).find(is_before) {
                return Err(Violation::Ordered { first: some[earlier], second: some[later] });
            }
        }
    }
    Ok(witness::bytes(&witness))
}

/// Returns an error if fixed offsets collide.
pub(crate) fn check_fixed(edges: &[Edge], buffers: &[GraphBuffer]) -> Result<(), Violation> {
    let fixed = buffers.iter().enumerate().filter_map(|(index, buffer)| {
        let start = buffer.offset?;
        Some(Range { index, start, end: start.saturating_add(buffer.size) })
    });
    check_sharing(edges, buffers, &fixed.collect::<Vec<_>>())
}

/// The maximum number of words per operation. The validator walks the graph for several buffers at
/// a time, and each buffer needs one bit per operation.
const MOST_WORDS: usize = 16;
/// The maximum number of words for all operations together. This number equals 32 MiB.
const WORDS_AT_A_TIME: usize = 1 << 22;

/// The range of bytes occupied by a buffer.
#[derive(Clone, Copy)]
struct Range {
    index: usize,
    start: u64,
    end: u64,
}

impl Range {
    fn shares_with(&self, other: &Self) -> bool {
        self.index != other.index && self.start.max(other.start) < self.end.min(other.end)
    }
}

/// Returns an error if two unordered buffers share bytes.
fn check_sharing(
    edges: &[Edge],
    buffers: &[GraphBuffer],
    placed: &[Range],
) -> Result<(), Violation> {
    let edges = Edges::of(edges);
    let markers: Vec<Markers> =
        placed.iter().map(|range| edges.markers(&buffers[range.index])).collect();
    let by_start = ByStart::of(placed);
    // For each buffer, the number of buffers that share bytes with it, and how many of them are
    // ordered relative to it.
    let (mut sharing, mut ordered) = (vec![0; placed.len()], vec![0; placed.len()]);
    let words = (WORDS_AT_A_TIME / edges.joined.len().max(1)).clamp(1, MOST_WORDS);
    for first in (0..placed.len()).step_by(64 * words) {
        let some = first..placed.len().min(first + 64 * words);
        let ancestors = edges.ancestors(&markers[some.clone()]);
        for (bit, later) in some.enumerate() {
            for earlier in by_start.sharing_with(&placed[later]) {
                sharing[later] += 1;
                if markers[earlier].are_in(&ancestors, bit) {
                    ordered[earlier] += 1;
                    ordered[later] += 1;
                }
            }
        }
    }
    let Some(first) = (0..placed.len()).find(|&one| ordered[one] < sharing[one]) else {
        return Ok(());
    };
    let is_ordered = |earlier: usize, later: usize| {
        markers[earlier].are_in(&edges.ancestors(&markers[later..=later]), 0)
    };
    let mut others = by_start.sharing_with(&placed[first]);
    let second = others.find(|&second| !is_ordered(second, first) && !is_ordered(first, second));
    let (first, second) = (placed[first].index, placed[second.unwrap_or(first)].index);
    Err(Violation::Unordered { first, second })
}

/// The placed buffers, sorted by the offsets of their first bytes.
struct ByStart {
    /// Each buffer's byte range and its position in the original list.
    ranges: Vec<(Range, usize)>,
    /// The largest buffer's size in bytes.
    largest: u64,
}

impl ByStart {
    fn of(placed: &[Range]) -> Self {
        let mut ranges: Vec<(Range, usize)> = placed.iter().copied().zip(0..).collect();
        ranges.sort_unstable_by_key(|(range, position)| (range.start, *position));
        let largest = placed.iter().map(|range| range.end - range.start).max().unwrap_or(0);
        Self { ranges, largest }
    }

    /// Returns the positions of all buffers that share bytes with the given range. The size of the
    /// largest buffer limits how far before the range an overlapping buffer can begin.
    fn sharing_with<'a>(&'a self, range: &'a Range) -> impl Iterator<Item = usize> + 'a {
        let lowest = range.start.saturating_sub(self.largest);
        let first = self.ranges.partition_point(|(other, _)| other.start < lowest);
        let near = self.ranges[first..].iter().take_while(|(other, _)| other.start < range.end);
        near.filter(|(other, _)| range.shares_with(other)).map(|&(_, position)| position)
    }
}

/// The `Full` edges with their directions reversed.
struct Edges {
    /// All operations that are endpoints of edges, in ascending order.
    joined: Vec<usize>,
    /// For each operation in `joined`, its direct predecessors, represented by their indices in
    /// `joined`.
    before: Vec<Vec<usize>>,
    /// The operations, as indices in `joined`, sorted so that each operation comes before its
    /// direct predecessors.
    last_first: Vec<usize>,
}

impl Edges {
    fn of(edges: &[Edge]) -> Self {
        let full = || edges.iter().filter(|edge| edge.kind == EdgeKind::Full);
        let mut joined: Vec<usize> = full().flat_map(|edge| [edge.from, edge.to]).collect();
        joined.sort_unstable();
        joined.dedup();
        let before = vec![Vec::new(); joined.len()];
        let mut edges = Self { before, joined, last_first: Vec::new() };
        for edge in full() {
            if let (Some(from), Some(to)) = (edges.find(edge.from), edges.find(edge.to)) {
                edges.before[to].push(from);
            }
        }
        edges.last_first = edges.in_order();
        edges
    }

    /// Returns the operations in reverse topological order: each operation comes before its direct
    /// predecessors (Kahn 1962). A valid problem has no cycles. If a problem contained a cycle, its
    /// operations would be omitted, as if they preceded no other operation.
    fn in_order(&self) -> Vec<usize> {
        let mut pending = vec![0_usize; self.joined.len()];
        self.before.iter().flatten().for_each(|&before| pending[before] += 1);
        let mut order: Vec<usize> =
            (0..pending.len()).filter(|&operation| pending[operation] == 0).collect();
        let mut next = 0;
        while let Some(&operation) = order.get(next) {
            next += 1;
            for &before in &self.before[operation] {
                pending[before] -= 1;
                if pending[before] == 0 {
                    order.push(before);
                }
            }
        }
        order
    }

    fn find(&self, operation: usize) -> Option<usize> {
        self.joined.binary_search(&operation).ok()
    }

    fn markers(&self, buffer: &GraphBuffer) -> Markers {
        let is_temporary = buffer.role == Role::Temporary;
        let alloc = self.find(buffer.allocated_by).filter(|_| is_temporary);
        let frees = buffer.freed_by.iter().map(|&operation| self.find(operation));
        let frees: Option<Vec<usize>> = frees.collect();
        Markers { alloc, frees: frees.filter(|frees| is_temporary && !frees.is_empty()) }
    }

    /// Returns, for each operation, the buffers in `some` that begin after the operation is
    /// complete. A buffer that never shares bytes is omitted.
    fn ancestors(&self, some: &[Markers]) -> Ancestors {
        let words = some.len().div_ceil(64);
        let mut met = vec![0_u64; self.joined.len() * words];
        // For each operation, the buffers whose alloc marker is that operation.
        let mut begin = met.clone();
        for (bit, markers) in some.iter().enumerate() {
            let begins = |one: usize| begin[one * words + bit / 64] |= 1 << (bit % 64);
            markers.alloc.into_iter().for_each(begins);
        }
        let mut bits = vec![0; words];
        for &one in &self.last_first {
            let row = one * words..(one + 1) * words;
            let both = met[row.clone()].iter().zip(&begin[row]);
            bits.iter_mut().zip(both).for_each(|(bits, (met, begin))| *bits = met | begin);
            for &before in &self.before[one] {
                let row = &mut met[before * words..(before + 1) * words];
                row.iter_mut().zip(&bits).for_each(|(word, bits)| *word |= bits);
            }
        }
        Ancestors { words, met }
    }
}

/// For each operation, the buffers that begin after the operation is complete, with one bit for
/// each buffer.
struct Ancestors {
    words: usize,
    met: Vec<u64>,
}

/// A buffer's markers, represented by indices of operations in `joined`.
struct Markers {
    /// The alloc marker. The alloc marker is `None` if no edge touches it or if the buffer never
    /// shares bytes.
    alloc: Option<usize>,
    /// The free markers. The list is `None` if there are no free markers, if one of them has no
    /// edges, or if the buffer never shares bytes.
    frees: Option<Vec<usize>>,
}

impl Markers {
    /// Returns `true` if the given bit is set for all operations that use the buffer.
    fn are_in(&self, ancestors: &Ancestors, bit: usize) -> bool {
        let Self { alloc: Some(alloc), frees: Some(frees) } = self else { return false };
        let Ancestors { words, met } = ancestors;
        let is_met = |&operation: &usize| met[operation * words + bit / 64] >> (bit % 64) & 1 == 1;
        is_met(alloc) && frees.iter().all(is_met)
    }
}
