//! Which buffers of a graph are finished before which others begin.

use crate::adjacency::adjacency;
use crate::bits::BitMatrix;
use crate::graph::{EdgeKind, Role};
use crate::happens_before::HappensBeforeProblem;
use crate::operations::Operations;

/// Words of the matrix of operations and buffers that are made at a time: 32 MiB.
const WORDS_AT_A_TIME: usize = 1 << 22;

/// For each buffer, as a row, the buffers that begin after all its uses.
///
/// The relation is a strict partial order: a buffer's own alloc marker counts as one of its uses. It is
/// made for some of the buffers that begin at a time, so that what is known of operations takes little.
pub(crate) fn precedence(problem: &HappensBeforeProblem) -> BitMatrix {
    let buffers = problem.buffers();
    let operations = Operations::of(problem.edges(), buffers);
    let full = problem.edges().iter().filter(|edge| edge.kind == EdgeKind::Full);
    let after = operations.after(full);
    // The order exists, because the problem was checked for cycles when it was made.
    let order = operations.in_order(problem.edges()).unwrap_or_default();
    let is_temporary = |index: &usize| buffers[*index].role == Role::Temporary;
    let mut precedes = BitMatrix::new(buffers.len(), buffers.len());
    let words = (WORDS_AT_A_TIME / operations.len().max(1)).max(1);
    for first in (0..buffers.len()).step_by(words * 64) {
        let some = first..buffers.len().min(first + words * 64);
        let begin = some.clone().filter(is_temporary);
        let allocated = adjacency(
            operations.len(),
            begin.map(|one| (operations.index(buffers[one].allocated_by), one - first)),
        );
        // Row of an operation: those of the buffers that are allocated after it.
        let mut allocated_after = BitMatrix::new(operations.len(), some.len());
        for &operation in order.iter().rev() {
            for &later in after.row(operation as usize) {
                allocated_after.merge_row(operation as usize, later as usize);
                for &buffer in allocated.row(later as usize) {
                    allocated_after.set(operation as usize, buffer as usize);
                }
            }
        }
        for (index, buffer) in buffers.iter().enumerate() {
            if buffer.role != Role::Temporary || buffer.freed_by.is_empty() {
                continue;
            }
            let rows = allocated_after.row(operations.index(buffer.allocated_by));
            let row = &mut precedes.row_mut(index)[first / 64..][..rows.len()];
            row.copy_from_slice(rows);
            for &operation in &buffer.freed_by {
                let others = allocated_after.row(operations.index(operation));
                row.iter_mut().zip(others).for_each(|(word, other)| *word &= other);
            }
        }
    }
    precedes
}
