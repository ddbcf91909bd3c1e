//! A capture's work on its streams, divided into spans. Each span stores its stream's last nodes
//! before and after the span, and the owner of the nodes in between.

use crate::driver::NodeKind;

/// One span of a stream's work during a capture.
#[derive(Debug)]
pub(crate) struct Span {
    /// The number of spans that were complete when this span began.
    pub(crate) begun: usize,
    pub(crate) before: Vec<u64>,
    pub(crate) after: Vec<u64>,
    /// The owner of the nodes added during this span.
    pub(crate) owner: NodeOwner,
}

/// The owner of a span's nodes. The owner is responsible for all memory that the nodes access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NodeOwner {
    /// The capture itself owns the span's nodes and added exactly these nodes.
    Put(Vec<PutNode>),
    /// A scope or a lent view owns the span's nodes. The span's nodes are kernel launches, or fills
    /// and copies that access only the graph's memory.
    Scope,
    /// The caller of `enqueue` owns all of the span's nodes.
    Caller,
}

/// A node added by an operation. The value stores the node's kind and the memory ranges in the
/// node's parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PutNode {
    pub(crate) kind: NodeKind,
    /// The address and size of each memory range in the node's parameters, in ascending order.
    pub(crate) names: Vec<(u64, u64)>,
}

impl NodeOwner {
    /// The owner of a span without nodes, such as a wait between streams.
    pub(crate) const NOTHING: Self = Self::Put(Vec::new());

    /// Returns the owner for an operation that adds a single node. An operation on 0 bytes adds no
    /// node.
    pub(crate) fn one(kind: NodeKind, addresses: &[u64], bytes: usize) -> Self {
        if bytes == 0 {
            return Self::NOTHING;
        }
        let mut names: Vec<_> = addresses.iter().map(|&address| (address, bytes as u64)).collect();
        names.sort_unstable();
        Self::Put(vec![PutNode { kind, names }])
    }
}
