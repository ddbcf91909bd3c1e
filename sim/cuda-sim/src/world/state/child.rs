//! Child graphs: graphs that are nodes of another one. A node has a copy of the graph that it was given, or, where
//! it is told so, the graph itself; either lives as long as the graph that the node is in.

use super::graph::EdgeData;
use super::work::Work;

/// Whose graph is put into a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ownership {
    /// A copy. What allocates, frees or chooses cannot be copied.
    Copied,
    /// The graph itself: the caller's handle is the node's from then on.
    Moved,
}

/// A node to be copied: itself, what it does, and what it comes behind.
pub(in crate::world) type Copied = (usize, Work, Vec<(usize, EdgeData)>);
