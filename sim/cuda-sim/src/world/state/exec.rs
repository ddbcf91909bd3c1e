//! State of executable graphs.

use super::event::Moment;
use super::graph::EdgeData;
use super::graph_memory::Allocation;
use super::work::Work;

/// An executable graph. It is a copy: later changes of the graph do not affect it.
#[derive(Debug)]
pub(crate) struct Exec {
    pub(crate) lives: bool,
    pub(in crate::world) graph: usize,
    pub(crate) auto_free: bool,
    pub(in crate::world) flags: u64,
    pub(crate) nodes: Vec<ExecNode>,
    pub(crate) allocations: Vec<Allocation>,
    /// Its last launch, for which the next one waits.
    pub(crate) last: Option<Moment>,
    /// For each node, all nodes that precede it.
    pub(crate) before: Vec<Vec<bool>>,
    /// `true` once its branches were compared with each other.
    pub(crate) compared: bool,
}

/// A node of an executable graph.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExecNode {
    pub(crate) node: usize,
    pub(crate) work: Work,
    /// Its edges, from indices in the vector.
    pub(in crate::world) edges: Vec<(usize, EdgeData)>,
    /// The nodes that it waits for, by index.
    pub(crate) before: Vec<usize>,
}
