//! Validation by reachability. For every buffer, the validator walks back from its alloc marker,
//! for up to 1,024 buffers at a time. Of two buffers that share bytes, all uses of one must be
//! among the operations that the walk of the other meets.
//!
//! Of two buffers at most one is finished before the other begins, because the graph has no cycles.
//! So counting suffices: if the number of buffers ordered with each buffer equals the number that
//! share bytes with it, all are ordered. No pair is stored, and memory grows with the problem and
//! not with its square.

use super::ends::{PlacedBuffer, ends};
use super::witness::{self, Witnessed};
use crate::graph::{Edge, EdgeKind, GraphBuffer, Role};
use crate::violation::Violation;

/// Returns the peak of the plan that places buffer `i` at `offsets[i]`: the end of its highest
/// byte.
///
/// # Errors
/// The first violation.
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

/// Returns the bytes of these buffers, a lower bound of every plan because no two of them may share bytes.
///
/// # Errors
/// An index that no buffer has, or two buffers that may share bytes: one is finished before the other begins.
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

/// Refuses fixed offsets that collide.
pub(crate) fn check_fixed(edges: &[Edge], buffers: &[GraphBuffer]) -> Result<(), Violation> {
    let fixed = buffers.iter().enumerate().filter_map(|(index, buffer)| {
        let start = buffer.offset?;
        Some(Range { index, start, end: start.saturating_add(buffer.size) })
    });
    check_sharing(edges, buffers, &fixed.collect::<Vec<_>>())
}

/// The maximum words of bits for each operation, when operations are walked for several buffers at
/// a time: each has a bit.
const MOST_WORDS: usize = 16;
/// The words of all operations together: 32 MiB.
const WORDS_AT_A_TIME: usize = 1 << 22;

/// The bytes of a buffer.
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

/// Refuses buffers that share bytes without an order.
fn check_sharing(
    edges: &[Edge],
    buffers: &[GraphBuffer],
    placed: &[Range],
) -> Result<(), Violation> {
    let edges = Edges::of(edges);
    let markers: Vec<Markers> =
        placed.iter().map(|range| edges.markers(&buffers[range.index])).collect();
    let by_start = ByStart::of(placed);
    // For each buffer, the number that share bytes with it, and how many of these are ordered with
    // it.
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

/// Placed buffers in the order of their first bytes.
struct ByStart {
    /// Each with its position among the placed ones.
    ranges: Vec<(Range, usize)>,
    /// The largest size of a buffer, in bytes.
    largest: u64,
}

impl ByStart {
    fn of(placed: &[Range]) -> Self {
        let mut ranges: Vec<(Range, usize)> = placed.iter().copied().zip(0..).collect();
        ranges.sort_unstable_by_key(|(range, position)| (range.start, *position));
        let largest = placed.iter().map(|range| range.end - range.start).max().unwrap_or(0);
        Self { ranges, largest }
    }

    /// Returns the positions of those that share bytes with a buffer. The largest size limits how
    /// far before it they can begin.
    fn sharing_with<'a>(&'a self, range: &'a Range) -> impl Iterator<Item = usize> + 'a {
        let lowest = range.start.saturating_sub(self.largest);
        let first = self.ranges.partition_point(|(other, _)| other.start < lowest);
        let near = self.ranges[first..].iter().take_while(|(other, _)| other.start < range.end);
        near.filter(|(other, _)| range.shares_with(other)).map(|&(_, position)| position)
    }
}

/// The edges of full completion, backwards.
struct Edges {
    /// The operations that the edges join, ascending.
    joined: Vec<usize>,
    /// For each of these operations, the indices in `joined` of those from which edges lead to it.
    before: Vec<Vec<usize>>,
    /// These operations, as indices of `joined`, each before those from which edges lead to it.
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

    /// Returns the operations, each before those from which edges lead to it (Kahn 1962). Those of
    /// a cycle, which no problem has, would be left out, and would precede nothing.
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

    /// Returns, for each operation, the buffers of `some` before which it is complete. No operation
    /// is before a buffer that shares bytes with no other.
    fn ancestors(&self, some: &[Markers]) -> Ancestors {
        let words = some.len().div_ceil(64);
        let mut met = vec![0_u64; self.joined.len() * words];
        // For each operation, the buffers that begin with it.
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

/// For each operation, the buffers before which it is complete, one bit for each buffer.
struct Ancestors {
    words: usize,
    met: Vec<u64>,
}

/// The markers of a buffer, as indices of the operations that edges join.
struct Markers {
    /// The alloc marker; `None` if no edge joins it, or if the buffer shares bytes with no other.
    alloc: Option<usize>,
    /// The free markers; `None` if no edge joins one of them, if the buffer has none, or if it
    /// shares bytes with no other.
    frees: Option<Vec<usize>>,
}

impl Markers {
    /// Returns `true` if all uses of the buffer are operations that have this bit.
    fn are_in(&self, ancestors: &Ancestors, bit: usize) -> bool {
        let Self { alloc: Some(alloc), frees: Some(frees) } = self else { return false };
        let Ancestors { words, met } = ancestors;
        let is_met = |&operation: &usize| met[operation * words + bit / 64] >> (bit % 64) & 1 == 1;
        is_met(alloc) && frees.iter().all(is_met)
    }
}
