//! Validation by reachability: for every buffer, walk back from its alloc marker, as from those of 63 others at the
//! same time; whatever shares bytes with it must have all its uses among what was met, or the other way round.
//!
//! Of two buffers at most one is finished before the other begins, because the graph has no cycles. So
//! it is enough to count: where each buffer has as many that come before or after it as share bytes with
//! it, all are ordered. No pair is kept, and memory grows with the problem and not with its square.

use super::ends::{PlacedBuffer, ends};
use crate::graph::{Edge, EdgeKind, GraphBuffer, Role};
use crate::violation::Violation;

/// The peak of the plan that places buffer `i` at `offsets[i]`: the end of its highest byte.
///
/// # Errors
/// The first thing that makes it no plan.
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

/// Refuses fixed offsets that collide.
pub(crate) fn check_fixed(edges: &[Edge], buffers: &[GraphBuffer]) -> Result<(), Violation> {
    let fixed = buffers.iter().enumerate().filter_map(|(index, buffer)| {
        let start = buffer.offset?;
        Some(Range { index, start, end: start.saturating_add(buffer.size) })
    });
    check_sharing(edges, buffers, &fixed.collect::<Vec<_>>())
}

/// For how many buffers operations are walked at a time: each has a bit of a word.
const AT_A_TIME: usize = 64;

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
    // For each buffer, how many share bytes with it, and how many of these are ordered with it.
    let (mut sharing, mut ordered) = (vec![0; placed.len()], vec![0; placed.len()]);
    for first in (0..placed.len()).step_by(AT_A_TIME) {
        let some = first..placed.len().min(first + AT_A_TIME);
        let ancestors = edges.ancestors(&markers[some.clone()]);
        for (bit, later) in some.enumerate() {
            for earlier in sharing_with(&placed[later], placed) {
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
    let mut others = sharing_with(&placed[first], placed);
    let second = others.find(|&second| !is_ordered(second, first) && !is_ordered(first, second));
    let (first, second) = (placed[first].index, placed[second.unwrap_or(first)].index);
    Err(Violation::Unordered { first, second })
}

/// The positions of those that share bytes with a buffer.
fn sharing_with<'a>(range: &'a Range, placed: &'a [Range]) -> impl Iterator<Item = usize> + 'a {
    let shares = |(position, other): (usize, &Range)| range.shares_with(other).then_some(position);
    placed.iter().enumerate().filter_map(shares)
}

/// The edges of full completion, backwards.
struct Edges {
    /// The operations that the edges join, ascending.
    joined: Vec<usize>,
    /// For each of these operations, those from which edges lead to it, as indices of `joined`.
    before: Vec<Vec<usize>>,
    /// These operations, as indices of `joined`, each in front of those from which edges lead to it.
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

    /// The operations, each in front of those from which edges lead to it (Kahn 1962). Those of a cycle, which no problem
    /// has, would be left out, and then be before nothing.
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

    /// For each operation, before which of some buffers it is complete, a bit for each; no operation is before a buffer
    /// that shares bytes with no other.
    fn ancestors(&self, some: &[Markers]) -> Vec<u64> {
        let mut met = vec![0; self.joined.len()];
        // For each operation, the buffers that begin with it.
        let mut begin = met.clone();
        for (bit, markers) in some.iter().enumerate() {
            markers.alloc.into_iter().for_each(|one| begin[one] |= 1 << bit);
        }
        for &one in &self.last_first {
            let bits: u64 = met[one] | begin[one];
            self.before[one].iter().for_each(|&before| met[before] |= bits);
        }
        met
    }
}

/// The markers of a buffer, as indices of the operations that edges join.
struct Markers {
    /// The alloc marker; `None` where no edge joins it, or where the buffer shares bytes with no other.
    alloc: Option<usize>,
    /// The free markers; `None` where no edge joins one of them, where the buffer has none, or where it shares
    /// bytes with no other.
    frees: Option<Vec<usize>>,
}

impl Markers {
    /// Whether all uses of the buffer are operations that have this bit.
    fn are_in(&self, met: &[u64], bit: usize) -> bool {
        let Self { alloc: Some(alloc), frees: Some(frees) } = self else { return false };
        let is_met = |&operation: &usize| met[operation] >> bit & 1 == 1;
        is_met(alloc) && frees.iter().all(is_met)
    }
}
