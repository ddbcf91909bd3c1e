//! The order of a graph's operations, and which buffers are finished before which others begin.

use crate::bits::BitMatrix;
use crate::error::PlanError;
use crate::happens_before::{Edge, EdgeKind, HappensBeforeProblem, Role};

/// The operations in an order that every edge follows, of either kind.
///
/// # Errors
/// If there is none, with the operations of one cycle.
pub(crate) fn topological(operations: usize, edges: &[Edge]) -> Result<Vec<u32>, PlanError> {
    let mut pending = vec![0_u32; operations];
    for edge in edges {
        pending[edge.to] += 1;
    }
    let after = adjacency(operations, edges.iter().map(|edge| (edge.from, edge.to)));
    let mut order: Vec<u32> =
        indices(operations).filter(|&one| pending[one as usize] == 0).collect();
    let mut next = 0;
    while let Some(&operation) = order.get(next) {
        next += 1;
        for &later in after.row(operation as usize) {
            pending[later as usize] -= 1;
            if pending[later as usize] == 0 {
                order.push(later);
            }
        }
    }
    if order.len() == operations {
        return Ok(order);
    }
    Err(PlanError::Cycle { operations: cycle(edges, &pending) })
}

/// One cycle among the operations that are still waiting for another.
fn cycle(edges: &[Edge], pending: &[u32]) -> Vec<usize> {
    // Every waiting operation waits for one that waits itself; going back must meet one twice.
    let mut waits_for = vec![None; pending.len()];
    for edge in edges.iter().filter(|edge| pending[edge.from] > 0 && pending[edge.to] > 0) {
        waits_for[edge.to] = Some(edge.from);
    }
    let mut path = Vec::new();
    let mut met = vec![false; pending.len()];
    let mut current = pending.iter().position(|&count| count > 0);
    while let Some(operation) = current.filter(|&one| !met[one]) {
        met[operation] = true;
        path.push(operation);
        current = waits_for[operation];
    }
    let start = path.iter().position(|&one| Some(one) == current).unwrap_or(0);
    let mut operations = path.split_off(start);
    operations.reverse();
    operations
}

/// Lists of 32-bit indices, one after the other in one vector.
#[derive(Clone, Debug)]
pub(crate) struct Lists {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// The list of `index`.
    pub(crate) fn row(&self, index: usize) -> &[u32] {
        &self.items[self.starts[index] as usize..self.starts[index + 1] as usize]
    }
}

/// For each index below `count`, what `pairs` lists with it, in the order of `pairs`.
pub(crate) fn adjacency(
    count: usize,
    pairs: impl Iterator<Item = (usize, usize)> + Clone,
) -> Lists {
    let mut starts = vec![0_u32; count + 1];
    for (from, _) in pairs.clone() {
        starts[from + 1] += 1;
    }
    for index in 0..count {
        starts[index + 1] += starts[index];
    }
    let mut ends = starts.clone();
    let mut items = vec![0_u32; starts[count] as usize];
    for (from, to) in pairs {
        items[ends[from] as usize] = index(to);
        ends[from] += 1;
    }
    Lists { starts, items }
}

/// An index as 32 bits: [`limits::check`](crate::limits::check) refuses problems with more.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the number of buffers and operations is checked"
)]
pub(crate) const fn index(value: usize) -> u32 {
    value as u32
}

/// The indices below `count`.
pub(crate) fn indices(count: usize) -> std::ops::Range<u32> {
    0..index(count)
}

/// For each buffer, as a row, the buffers that begin after all its uses.
///
/// The relation is a strict partial order: a buffer's own alloc marker counts as one of its uses.
pub(crate) fn precedence(problem: &HappensBeforeProblem) -> BitMatrix {
    let buffers = problem.buffers();
    let operations = problem.operations();
    let full = problem.edges().iter().filter(|edge| edge.kind == EdgeKind::Full);
    let after = adjacency(operations, full.map(|edge| (edge.from, edge.to)));
    let temporary = |index: &usize| buffers[*index].role == Role::Temporary;
    let temporaries = (0..buffers.len()).filter(temporary);
    let allocated = adjacency(operations, temporaries.map(|one| (buffers[one].allocated_by, one)));
    // Row of an operation: the buffers that are allocated after it. The order exists, because the
    // problem was checked for cycles when it was made.
    let order = topological(operations, problem.edges()).unwrap_or_default();
    let mut allocated_after = BitMatrix::new(operations, buffers.len());
    for &operation in order.iter().rev() {
        for &later in after.row(operation as usize) {
            allocated_after.merge_row(operation as usize, later as usize);
            for &buffer in allocated.row(later as usize) {
                allocated_after.set(operation as usize, buffer as usize);
            }
        }
    }
    let mut precedes = BitMatrix::new(buffers.len(), buffers.len());
    for (index, buffer) in buffers.iter().enumerate() {
        if buffer.role != Role::Temporary || buffer.freed_by.is_empty() {
            continue;
        }
        let row = precedes.row_mut(index);
        row.copy_from_slice(allocated_after.row(buffer.allocated_by));
        for &operation in &buffer.freed_by {
            let others = allocated_after.row(operation);
            row.iter_mut().zip(others).for_each(|(word, other)| *word &= other);
        }
    }
    precedes
}
