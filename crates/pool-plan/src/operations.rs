//! The graph operations that are referenced by edges or buffers. A graph may have too many
//! operations to store a list of all of them. The list omits operations that no edge or buffer
//! references, because they are unordered.

use crate::adjacency::{Lists, adjacency, index};
use crate::graph::{Edge, GraphBuffer};

/// The operations referenced by edges or buffers. The solver represents each operation by its index
/// in this list.
#[derive(Clone, Debug)]
pub(crate) struct Operations {
    /// The numbers of the operations referenced by edges or buffers, in ascending order.
    named: Vec<usize>,
}

impl Operations {
    /// Collects the operations referenced by the given edges and buffers.
    pub(crate) fn of(edges: &[Edge], buffers: &[GraphBuffer]) -> Self {
        let mut named: Vec<usize> = edges.iter().flat_map(|edge| [edge.from, edge.to]).collect();
        for buffer in buffers {
            named.push(buffer.allocated_by);
            named.extend(&buffer.freed_by);
        }
        named.sort_unstable();
        named.dedup();
        Self { named }
    }

    /// Returns the number of operations that edges or buffers reference.
    pub(crate) fn len(&self) -> usize {
        self.named.len()
    }

    /// Returns the index of an operation that an edge or a buffer references.
    pub(crate) fn index(&self, operation: usize) -> usize {
        self.named.partition_point(|&other| other < operation)
    }

    /// Returns the number of the operation with the given index.
    pub(crate) fn number(&self, index: usize) -> usize {
        self.named[index]
    }

    /// Groups the given edges by source, and returns a list of target indices for each source
    /// index.
    pub(crate) fn after<'e>(&self, edges: impl Iterator<Item = &'e Edge> + Clone) -> Lists {
        adjacency(self.len(), edges.map(|edge| (self.index(edge.from), self.index(edge.to))))
    }

    /// Returns all indices in an order that respects every edge of either kind (a topological
    /// order).
    ///
    /// # Errors
    /// If the edges form a cycle, the error contains the numbers of the operations on one cycle.
    pub(crate) fn in_order(&self, edges: &[Edge]) -> Result<Vec<u32>, Vec<usize>> {
        let mut pending = vec![0_u32; self.len()];
        for edge in edges {
            pending[self.index(edge.to)] += 1;
        }
        let after = self.after(edges.iter());
        let mut order: Vec<u32> =
            (0..self.len()).filter(|&one| pending[one] == 0).map(index).collect();
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
        if order.len() == self.len() { Ok(order) } else { Err(self.cycle(edges, &pending)) }
    }

    /// Returns a cycle among the operations that still have pending predecessors.
    fn cycle(&self, edges: &[Edge], pending: &[u32]) -> Vec<usize> {
        // Each operation on a cycle waits for another one on it, so a walk along the edges in
        // reverse must eventually reach some operation twice.
        let mut waits_for = vec![None; pending.len()];
        for edge in edges {
            let (from, to) = (self.index(edge.from), self.index(edge.to));
            if pending[from] > 0 && pending[to] > 0 {
                waits_for[to] = Some(from);
            }
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
        path[start..].iter().rev().map(|&operation| self.number(operation)).collect()
    }
}
