//! State of child graphs, which are nodes of another graph.

use super::graph::EdgeData;
use super::work::Work;

/// Who owns the graph in a child graph node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ownership {
    /// The node owns a copy. Nodes that allocate, free or branch cannot be copied.
    Copied,
    /// The node owns the graph itself, and the caller's handle refers to the node's graph from then
    /// on.
    Moved,
}

/// A node to copy: its index, its work and its dependencies.
pub(in crate::world) type Copied = (usize, Work, Vec<(usize, EdgeData)>);
