//! State of graphs: nodes and their dependencies.

use super::graph_memory::Allocation;
use super::work::Work;

/// A graph.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) lives: bool,
    /// The parent graph, if this is a child graph.
    pub(crate) parent: Option<usize>,
    pub(crate) nodes: Vec<usize>,
    pub(crate) allocations: Vec<Allocation>,
}

/// A node.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) lives: bool,
    pub(crate) graph: usize,
    pub(crate) work: Work,
    /// The nodes on which this node depends.
    pub(crate) before: Vec<(usize, EdgeData)>,
}

/// The dependency that an edge expresses. It waits for the whole source node unless the edge is
/// programmatic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EdgeData {
    pub(crate) from_port: u8,
    pub(crate) to_port: u8,
    pub(crate) kind: u8,
}

impl EdgeData {
    /// An edge from a kernel that allows the next kernel to start before the first one ends.
    pub(crate) const PROGRAMMATIC: Self = Self { from_port: 1, to_port: 0, kind: 1 };

    pub(crate) fn is_plain(self) -> bool {
        self == Self::default()
    }

    /// Returns `true` for the edges that CUDA defines between kernels: after the trigger, or after
    /// the start.
    pub(in crate::world) fn is_programmatic(self) -> bool {
        self.kind == 1 && matches!(self.from_port, 1 | 2) && self.to_port == 0
    }
}
