//! The order relation between a graph's buffers. For each buffer, the relation lists the buffers
//! that begin after all of its uses.

use std::ops::Range;
use std::sync::Mutex;

use crate::adjacency::{Lists, adjacency};
use crate::bits::{BitMatrix, Columns};
use crate::graph::{EdgeKind, GraphBuffer, Role};
use crate::happens_before::HappensBeforeProblem;
use crate::operations::Operations;
use crate::tasks;

/// The maximum number of words in each part of the operation matrix. The matrix is built one part
/// at a time. The maximum equals 32 MiB.
const WORDS_AT_A_TIME: usize = 1 << 22;

/// Returns the order relation as a matrix. Each buffer's row contains the buffers whose lifetimes
/// begin after that buffer's last use.
///
/// The relation is a strict partial order because a buffer's own alloc marker counts as one of its
/// uses. Up to `threads` threads compute the relation's columns.
pub(crate) fn precedence(problem: &HappensBeforeProblem, threads: usize) -> BitMatrix {
    let buffers = problem.buffers();
    let operations = Operations::of(problem.edges(), buffers);
    let full = problem.edges().iter().filter(|edge| edge.kind == EdgeKind::Full);
    let after = operations.after(full);
    // A topological order exists because a problem whose edges form a cycle cannot be created.
    let order = operations.in_order(problem.edges()).unwrap_or_default();
    let mut precedes = BitMatrix::new(buffers.len(), buffers.len());
    let threads = precedes.threads_of(threads);
    let relation = Relation { buffers, operations, order, after };
    let words_at_a_time = WORDS_AT_A_TIME / threads / relation.operations.len().max(1);
    let parts: Vec<_> = precedes.parts(threads).into_iter().map(Mutex::new).collect();
    tasks::run(threads, parts.len(), |part| {
        let part = parts[part].lock();
        part.into_iter().for_each(|mut part| relation.fill(&mut part, words_at_a_time));
    });
    drop(parts);
    precedes
}

/// The data for computing the order relation between buffers.
struct Relation<'a> {
    buffers: &'a [GraphBuffer],
    operations: Operations,
    /// The operations in topological order, so that no operation comes after an operation that
    /// depends on it.
    order: Vec<u32>,
    /// For each operation, the operations that must wait until it has completed.
    after: Lists,
}

impl Relation<'_> {
    /// Sets the bits in one part of the matrix. The function processes a few columns at a time so
    /// that the matrix of operations remains small.
    fn fill(&self, part: &mut Columns<'_>, words_at_a_time: usize) {
        let end = part.end().min(self.buffers.len());
        let mut allocated_after = BitMatrix::new(0, 0);
        let columns = words_at_a_time.max(1) * 64;
        for first in (part.first()..end).step_by(columns) {
            self.find_allocated_after(first..end.min(first + columns), &mut allocated_after);
            for (index, buffer) in self.buffers.iter().enumerate() {
                if buffer.role != Role::Temporary || buffer.freed_by.is_empty() {
                    continue;
                }
                let words = allocated_after.row(self.operations.index(buffer.allocated_by));
                let row = part.words_mut(index, first, words.len());
                row.copy_from_slice(words);
                for &operation in &buffer.freed_by {
                    let others = allocated_after.row(self.operations.index(operation));
                    row.iter_mut().zip(others).for_each(|(word, other)| *word &= other);
                }
            }
        }
    }

    /// For each operation, sets the bits of those given buffers that a later operation allocates.
    fn find_allocated_after(&self, some: Range<usize>, matrix: &mut BitMatrix) {
        let is_temporary = |index: &usize| self.buffers[*index].role == Role::Temporary;
        let allocated_by = |index: usize| self.operations.index(self.buffers[index].allocated_by);
        let begin = some.clone().filter(is_temporary);
        let begin = begin.map(|index| (allocated_by(index), index - some.start));
        let allocated = adjacency(self.operations.len(), begin);
        matrix.clear(self.operations.len(), some.len());
        for &operation in self.order.iter().rev() {
            for &later in self.after.row(operation as usize) {
                matrix.merge_row(operation as usize, later as usize);
                for &buffer in allocated.row(later as usize) {
                    matrix.set(operation as usize, buffer as usize);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::precedence;
    use crate::graph::{Edge, GraphBuffer};
    use crate::happens_before::HappensBeforeProblem;
    use crate::random::Random;

    #[test]
    fn threads_make_the_same_relation() {
        let mut random = Random::new(1, 0, 0);
        // There are enough buffers for several threads to start, and their number is not a multiple
        // of the word size.
        let count = 2_500;
        let edges = (1..count).flat_map(|to| {
            let one = Edge::full(random.below(to), to);
            let other = Edge::full(to - 1 - random.below(to.min(8)), to);
            [one, other]
        });
        let edges = edges.collect();
        let buffers = (0..count).map(|one| {
            let freed_by = vec![(one + random.below(40)).min(count - 1)];
            GraphBuffer::new(one.to_string(), 1, one, freed_by)
        });
        let problem = HappensBeforeProblem::new(count, edges, buffers.collect()).expect("valid");
        let alone = precedence(&problem, 1);
        assert!(alone.columns(0).count() > count / 2, "most come after the first");
        for threads in [2, 3, 64] {
            let shared = precedence(&problem, threads);
            assert!((0..count).all(|row| shared.row(row) == alone.row(row)), "{threads} threads");
        }
    }
}
