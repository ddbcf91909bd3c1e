//! The work of a capture on its streams, in pieces: each stream's last nodes before and after, by
//! handle, and the owner of the nodes between.

use crate::driver::NodeKind;

/// A piece of a capture.
#[derive(Debug)]
pub(crate) struct Span {
    /// The number of completed spans when this one began.
    pub(crate) begun: usize,
    pub(crate) before: Vec<u64>,
    pub(crate) after: Vec<u64>,
    /// The owner of the nodes between.
    pub(crate) owner: NodeOwner,
}

/// The owner of a span's nodes, which is responsible for their memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NodeOwner {
    /// The capture, which put exactly these nodes there.
    Put(Vec<PutNode>),
    /// A scope, or a lent view: launches, and nodes whose memory is all the graph's.
    Scope,
    /// The caller of `enqueue`: all of them.
    Caller,
}

/// A node of an operation: its kind, and the memory in its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PutNode {
    pub(crate) kind: NodeKind,
    /// The address and the bytes of each range in the node, in order.
    pub(crate) names: Vec<(u64, u64)>,
}

impl NodeOwner {
    /// The owner of a wait, and of an operation without a node.
    pub(crate) const NOTHING: Self = Self::Put(Vec::new());

    /// Returns an operation of one node, or of none if it has 0 bytes.
    pub(crate) fn one(kind: NodeKind, addresses: &[u64], bytes: usize) -> Self {
        if bytes == 0 {
            return Self::NOTHING;
        }
        let mut names: Vec<_> = addresses.iter().map(|&address| (address, bytes as u64)).collect();
        names.sort_unstable();
        Self::Put(vec![PutNode { kind, names }])
    }
}
