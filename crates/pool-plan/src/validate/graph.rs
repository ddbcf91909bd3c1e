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

/// Refuses buffers, given as (index, start, end), that share bytes without an order.
fn check_sharing(
    problem: &HappensBeforeProblem,
    placed: &[(usize, u64, u64)],
) -> Result<(), Violation> {
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
    for (later, &(index, start, end)) in placed.iter().enumerate() {
        let shares = |&(_, &(other, other_start, other_end)): &(usize, &(usize, u64, u64))| {
            other != index && start.max(other_start) < end.min(other_end)
        };
        sharing.clear();
        sharing.extend(placed.iter().enumerate().filter(shares).map(|(position, _)| position));
        if sharing.is_empty() {
            continue;
        }
        let ancestors = ancestors(&before, buffers[index].allocated_by);
        for &earlier in &sharing {
            if finished_before(&buffers[placed[earlier].0], &buffers[index], &ancestors) {
                let bit = earlier * count + later;
                ordered[bit / 64] |= 1 << (bit % 64);
            }
        }
    }
    let is_ordered = |one: usize, other: usize| {
        let bit = one * count + other;
        ordered[bit / 64] >> (bit % 64) & 1 == 1
    };
    for (position, &(first, start, end)) in placed.iter().enumerate() {
        for (after, &(second, other_start, other_end)) in placed.iter().enumerate().skip(position) {
            let shares = first != second && start.max(other_start) < end.min(other_end);
            if shares && !is_ordered(position, after) && !is_ordered(after, position) {
                return Err(Violation::Unordered { first, second });
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
