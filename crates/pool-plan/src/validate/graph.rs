//! Validation by reachability: for every buffer, walk back from its alloc marker; whatever shares
//! bytes with it must have all its uses among what was met, or the other way round.
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
    let sharing_with = |range: &Range| -> Vec<usize> {
        let shares = |&position: &usize| range.shares_with(&placed[position]);
        (0..placed.len()).filter(shares).collect()
    };
    // For each buffer, how many share bytes with it, and how many of these are ordered with it.
    let (mut sharing, mut ordered) = (vec![0; placed.len()], vec![0; placed.len()]);
    for (later, range) in placed.iter().enumerate() {
        let others = sharing_with(range);
        sharing[later] = others.len();
        if others.is_empty() {
            continue;
        }
        let ancestors = edges.ancestors(&markers[later]);
        for earlier in others {
            if markers[earlier].are_in(&ancestors) {
                ordered[earlier] += 1;
                ordered[later] += 1;
            }
        }
    }
    let Some(first) = (0..placed.len()).find(|&one| ordered[one] < sharing[one]) else {
        return Ok(());
    };
    let ancestors = edges.ancestors(&markers[first]);
    let is_unordered = |&second: &usize| {
        !markers[second].are_in(&ancestors)
            && !markers[first].are_in(&edges.ancestors(&markers[second]))
    };
    let second = sharing_with(&placed[first]).into_iter().find(is_unordered).unwrap_or(first);
    let (first, second) = (placed[first].index, placed[second].index);
    Err(Violation::Unordered { first, second })
}

/// The edges of full completion, backwards.
struct Edges {
    /// The operations that the edges join, ascending.
    joined: Vec<usize>,
    /// For each of these operations, those from which edges lead to it, as indices of `joined`.
    before: Vec<Vec<usize>>,
}

impl Edges {
    fn of(edges: &[Edge]) -> Self {
        let full = || edges.iter().filter(|edge| edge.kind == EdgeKind::Full);
        let mut joined: Vec<usize> = full().flat_map(|edge| [edge.from, edge.to]).collect();
        joined.sort_unstable();
        joined.dedup();
        let mut edges = Self { before: vec![Vec::new(); joined.len()], joined };
        for edge in full() {
            if let (Some(from), Some(to)) = (edges.find(edge.from), edges.find(edge.to)) {
                edges.before[to].push(from);
            }
        }
        edges
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

    /// For each operation, whether it is complete before a buffer begins; no operation is before a buffer that
    /// shares bytes with no other.
    fn ancestors(&self, markers: &Markers) -> Vec<bool> {
        let mut met = vec![false; self.joined.len()];
        let mut open: Vec<usize> = markers.alloc.into_iter().collect();
        while let Some(one) = open.pop() {
            for &before in &self.before[one] {
                if !met[before] {
                    met[before] = true;
                    open.push(before);
                }
            }
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
    /// Whether all uses of the buffer are among these operations.
    fn are_in(&self, met: &[bool]) -> bool {
        let Self { alloc: Some(alloc), frees: Some(frees) } = self else { return false };
        met[*alloc] && frees.iter().all(|&operation| met[operation])
    }
}
