//! Validation by reachability: for every buffer, walk back from its alloc marker; whatever shares
//! bytes with it must have all its uses among what was met, or the other way round.

use super::{Placed, Violation, ends};
use crate::happens_before::{EdgeKind, GraphBuffer, HappensBeforeProblem, Role};

impl HappensBeforeProblem {
    /// The peak of the plan that places buffer `i` at `offsets[i]`: the end of its highest byte.
    ///
    /// # Errors
    /// The first thing that makes it no plan: two buffers that share bytes though neither is
    /// ordered before the other, an offset that is not aligned, or not the fixed one.
    pub fn validate(&self, offsets: &[u64]) -> Result<u64, Violation> {
        let buffers = self.buffers();
        if offsets.len() != buffers.len() {
            let (offsets, buffers) = (offsets.len(), buffers.len());
            return Err(Violation::WrongLength { offsets, buffers });
        }
        let ends = ends(buffers.iter().zip(offsets).map(|(buffer, &offset)| Placed {
            size: buffer.size,
            alignment: buffer.alignment,
            fixed: buffer.offset,
            offset,
        }))?;
        let placed: Vec<_> =
            (0..buffers.len()).map(|index| (index, offsets[index], ends[index])).collect();
        check_sharing(self, &placed)?;
        Ok(ends.into_iter().max().unwrap_or(0))
    }
}

/// Refuses fixed offsets that collide.
pub(crate) fn fixed_in_graph(problem: &HappensBeforeProblem) -> Result<(), Violation> {
    let fixed = problem.buffers().iter().enumerate().filter_map(|(index, buffer)| {
        let offset = buffer.offset?;
        Some((index, offset, offset.saturating_add(buffer.size)))
    });
    check_sharing(problem, &fixed.collect::<Vec<_>>())
}

/// The index of a buffer, its start and its end.
type Place = (usize, u64, u64);

fn share_bytes(&(one, start, end): &Place, &(other, other_start, other_end): &Place) -> bool {
    one != other && start.max(other_start) < end.min(other_end)
}

/// Refuses buffers that share bytes without an order.
fn check_sharing(problem: &HappensBeforeProblem, placed: &[Place]) -> Result<(), Violation> {
    let buffers = problem.buffers();
    let mut before = vec![Vec::new(); problem.operations()];
    for edge in problem.edges() {
        if edge.kind == EdgeKind::Full {
            before[edge.to].push(edge.from);
        }
    }
    let count = placed.len();
    let mut ordered = vec![0_u64; (count * count).div_ceil(64)];
    let mut sharing = Vec::new();
    for (later, place) in placed.iter().enumerate() {
        sharing.clear();
        sharing.extend((0..count).filter(|&earlier| share_bytes(&placed[earlier], place)));
        if sharing.is_empty() {
            continue;
        }
        let buffer = &buffers[place.0];
        let ancestors = ancestors(&before, buffer.allocated_by);
        for &earlier in &sharing {
            if finished_before(&buffers[placed[earlier].0], buffer, &ancestors) {
                let bit = earlier * count + later;
                ordered[bit / 64] |= 1 << (bit % 64);
            }
        }
    }
    let is_ordered = |one: usize, other: usize| {
        let bit = one * count + other;
        ordered[bit / 64] >> (bit % 64) & 1 == 1
    };
    for (position, one) in placed.iter().enumerate() {
        for (after, other) in placed.iter().enumerate().skip(position) {
            let ordered = || is_ordered(position, after) || is_ordered(after, position);
            if share_bytes(one, other) && !ordered() {
                return Err(Violation::Unordered { first: one.0, second: other.0 });
            }
        }
    }
    Ok(())
}

/// Which operations are complete before `operation` begins.
fn ancestors(before: &[Vec<usize>], operation: usize) -> Vec<bool> {
    let mut met = vec![false; before.len()];
    let mut open = before[operation].clone();
    while let Some(one) = open.pop() {
        if !met[one] {
            met[one] = true;
            open.extend(&before[one]);
        }
    }
    met
}

fn finished_before(earlier: &GraphBuffer, later: &GraphBuffer, ancestors: &[bool]) -> bool {
    earlier.role == Role::Temporary
        && later.role == Role::Temporary
        && !earlier.freed_by.is_empty()
        && ancestors[earlier.allocated_by]
        && earlier.freed_by.iter().all(|&operation| ancestors[operation])
}
