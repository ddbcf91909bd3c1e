//! State of executable graphs.

use super::event::Moment;
use super::graph::EdgeData;
use super::graph_memory::Allocation;
use super::work::Work;

/// An executable graph. It is a copy, so later changes to the graph do not affect it.
#[derive(Debug)]
pub(crate) struct Exec {
    pub(crate) lives: bool,
    pub(in crate::world) graph: usize,
    pub(crate) auto_free: bool,
    pub(in crate::world) flags: u64,
    pub(crate) nodes: Vec<ExecNode>,
    pub(crate) allocations: Vec<Allocation>,
    /// The moment of its last launch. The next launch waits for this moment.
    pub(crate) last: Option<Moment>,
    /// For each node, the nodes that precede it.
    pub(crate) before: Vec<Vec<bool>>,
    /// `true` if its branches have been compared with each other.
    pub(crate) compared: bool,
}

/// A node of an executable graph.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExecNode {
    pub(crate) node: usize,
    pub(crate) work: Work,
    /// Its incoming edges. The source is an index into the list of nodes.
    pub(in crate::world) edges: Vec<(usize, EdgeData)>,
    /// The indices of the nodes that it waits for.
    pub(crate) before: Vec<usize>,
}
