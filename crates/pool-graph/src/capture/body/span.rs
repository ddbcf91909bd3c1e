//! What a capture did to its streams, piece by piece: where each stood before and after, by handles of
//! nodes, and who answers for the nodes between.

use crate::driver::NodeKind;

/// A piece of a capture.
#[derive(Debug)]
pub(crate) struct Span {
    /// How many spans were over when this one began.
    pub(crate) begun: usize,
    pub(crate) before: Vec<u64>,
    pub(crate) after: Vec<u64>,
    /// Who answers for the nodes between.
    pub(crate) owner: NodeOwner,
}

/// Who answers for the nodes of a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NodeOwner {
    /// The capture, which put exactly these nodes there.
    Put(Vec<PutNode>),
    /// A scope, or a lent view: launches, and what names the memory of the graph and none else.
    Scope,
    /// Whoever called `enqueue`: all of them.
    Caller,
}

/// A node that an operation puts on a stream: its kind, and the memory that it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PutNode {
    pub(crate) kind: NodeKind,
    /// The address and the bytes of each range that the node names, in order.
    pub(crate) names: Vec<(u64, u64)>,
}

impl NodeOwner {
    /// The owner of what waits, and operations that put nothing on a stream, leave there: no node.
    pub(crate) const NOTHING: Self = Self::Put(Vec::new());

    /// An operation of one node, or of none where it has no bytes.
    pub(crate) fn one(kind: NodeKind, addresses: &[u64], bytes: usize) -> Self {
        if bytes == 0 {
            return Self::NOTHING;
        }
        let mut names: Vec<_> = addresses.iter().map(|&address| (address, bytes as u64)).collect();
        names.sort_unstable();
        Self::Put(vec![PutNode { kind, names }])
    }
}
