//! Graphs that can be launched, and how they are made from a graph.

use super::event::Moment;
use super::graph::EdgeData;
use super::graph_memory::Allocation;
use super::work::Work;

/// An executable graph: a copy, which what happens to the graph later does not change.
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
    /// For each node all that come before it.
    pub(crate) before: Vec<Vec<bool>>,
    /// Whether its branches were compared with each other.
    pub(crate) compared: bool,
}

/// A node of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExecNode {
    pub(crate) node: usize,
    pub(crate) work: Work,
    /// Its edges, from places in the vector.
    pub(in crate::world) edges: Vec<(usize, EdgeData)>,
    /// Those that it waits for, by their places.
    pub(crate) before: Vec<usize>,
}
