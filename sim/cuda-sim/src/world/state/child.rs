//! State of child graphs: graphs that are nodes of another graph.

use super::graph::EdgeData;
use super::work::Work;

/// The ownership of the graph in a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ownership {
    /// A copy. Nodes that allocate, free or branch cannot be copied.
    Copied,
    /// The graph itself: the caller's handle belongs to the node from then on.
    Moved,
}

/// A node to be copied: its index, its work, and its dependencies.
pub(in crate::world) type Copied = (usize, Work, Vec<(usize, EdgeData)>);
