//! State of graphs: nodes and their dependencies.

use super::graph_memory::Allocation;
use super::work::Work;

/// A graph.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) lives: bool,
    /// The graph that contains it, if it is a child graph.
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
    /// The node's dependencies.
    pub(crate) before: Vec<(usize, EdgeData)>,
}

/// The dependency that an edge expresses: on the whole source node, unless it is programmatic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EdgeData {
    pub(crate) from_port: u8,
    pub(crate) to_port: u8,
    pub(crate) kind: u8,
}

impl EdgeData {
    /// An edge from a kernel that lets the next one start before it ends.
    pub(crate) const PROGRAMMATIC: Self = Self { from_port: 1, to_port: 0, kind: 1 };

    pub(crate) fn is_plain(self) -> bool {
        self == Self::default()
    }

    /// Returns `true` for an edge between kernels that CUDA defines: after the trigger, or after
    /// the start.
    pub(in crate::world) fn is_programmatic(self) -> bool {
        self.kind == 1 && matches!(self.from_port, 1 | 2) && self.to_port == 0
    }
}
