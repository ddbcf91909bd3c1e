//! The work of a capture on its streams, divided into spans. Each span stores the streams' last
//! nodes before and after it, by handle, and the owner of the nodes in between.

use crate::driver::NodeKind;

/// A span of a capture's work.
#[derive(Debug)]
pub(crate) struct Span {
    /// The number of completed spans when this span began.
    pub(crate) begun: usize,
    pub(crate) before: Vec<u64>,
    pub(crate) after: Vec<u64>,
    /// The owner of the nodes that were added during the span.
    pub(crate) owner: NodeOwner,
}

/// The owner of a span's nodes, which is responsible for their memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NodeOwner {
    /// The capture, which added exactly these nodes.
    Put(Vec<PutNode>),
    /// A scope or a lent view, which may own launches, and nodes that use only the graph's memory.
    Scope,
    /// The caller of `enqueue`, who owns all of the nodes.
    Caller,
}

/// A node that an operation added: its kind, and the memory in its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PutNode {
    pub(crate) kind: NodeKind,
    /// The address and the size of each memory range in the node, in sorted order.
    pub(crate) names: Vec<(u64, u64)>,
}

impl NodeOwner {
    /// The owner for a wait, and for an operation that adds no node.
    pub(crate) const NOTHING: Self = Self::Put(Vec::new());

    /// Returns the owner for an operation that adds one node. An operation of 0 bytes adds no node.
    pub(crate) fn one(kind: NodeKind, addresses: &[u64], bytes: usize) -> Self {
        if bytes == 0 {
            return Self::NOTHING;
        }
        let mut names: Vec<_> = addresses.iter().map(|&address| (address, bytes as u64)).collect();
        names.sort_unstable();
        Self::Put(vec![PutNode { kind, names }])
    }
}
