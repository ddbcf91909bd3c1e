//! A check that every node in a graph has an owner. Each captured operation owns the node that it
//! added. A node is identified by its kind and addresses. A scope owns its kernel launches and any
//! fills and copies that access only the graph's own memory. The caller of `enqueue` owns all nodes
//! that the enqueued work added. A node without an owner comes from code outside the capture, such
//! as code on another thread. The check rejects a graph if one of its nodes has no owner.

use std::collections::HashMap;

use pool_driver::host_buffer::HostBuffer;

use super::body::{NodeOwner, Span};
use super::error::CaptureError;
use super::memory::GraphMemory;
use crate::base::range::LeasedRange;
use crate::driver::{Contents, NodeKind};

/// A graph's memory and the record of its capture.
pub(super) struct ClosedWorld<'a> {
    pub(super) memory: &'a GraphMemory,
    pub(super) host: &'a [Option<HostBuffer>],
    pub(super) spans: &'a [Span],
    /// The index of each node, keyed by node handle.
    pub(super) numbers: &'a HashMap<u64, usize>,
}

/// A graph's nodes and the owners found so far.
struct Nodes<'a> {
    contents: &'a Contents,
    /// The direct predecessors of each node.
    before: Vec<Vec<usize>>,
    /// The ranges of device and host memory that each node accesses, in ascending order.
    names: Vec<Vec<(u64, u64)>>,
    /// The index of the span that owns each node, or `None` if no owner has been found yet.
    claimed: Vec<Option<usize>>,
    /// For each node, the index of the first span that contains it. If that first span ended before
    /// a later span began, the later span cannot own the node.
    came: Vec<Option<usize>>,
    /// For each node, the index of the span whose search visited it last.
    seen: Vec<Option<usize>>,
}

impl ClosedWorld<'_> {
    /// Checks that every node in the graph has an owner.
    pub(super) fn check(&self, contents: &Contents) -> Result<(), CaptureError> {
        let mut nodes = Nodes::new(contents);
        for (number, span) in self.spans.iter().enumerate() {
            let within = self.nodes_within(&mut nodes, number, span);
            self.claim(&mut nodes, number, span, &within);
        }
        let stranger = nodes.claimed.iter().position(Option::is_none);
        stranger.map_or(Ok(()), |node| Err(self.refusal(&nodes, node)))
    }

    /// Returns the nodes added between the beginning and the end of a span. The result also
    /// contains the nodes of nested spans.
    fn nodes_within(&self, nodes: &mut Nodes<'_>, number: usize, span: &Span) -> Vec<usize> {
        let place = |handle: &u64| self.numbers.get(handle).copied();
        for node in span.before.iter().filter_map(place) {
            nodes.seen[node] = Some(number);
        }
        let mut open: Vec<usize> = span.after.iter().filter_map(place).collect();
        let mut within = Vec::new();
        while let Some(node) = open.pop() {
            let is_older = nodes.came[node].is_some_and(|came| came < span.begun);
            if nodes.seen[node].replace(number) != Some(number) && !is_older {
                nodes.came[node].get_or_insert(number);
                within.push(node);
                open.extend(&nodes.before[node]);
            }
        }
        within
    }

    fn claim(&self, nodes: &mut Nodes<'_>, number: usize, span: &Span, within: &[usize]) {
        let mut free = within.to_vec();
        free.retain(|&node| nodes.claimed[node].is_none());
        match &span.owner {
            NodeOwner::Put(puts) => {
                for put in puts {
                    let is_put = |&node: &usize| {
                        nodes.kind(node) == put.kind && nodes.names[node] == put.names
                    };
                    let own = free.iter().position(is_put).map(|place| free.swap_remove(place));
                    own.map(|node| nodes.claimed[node].replace(number));
                }
                // Any empty node may belong to the span. Empty nodes have no effect, and the driver
                // may add them to join streams.
                free.retain(|&node| nodes.kind(node) == NodeKind::Empty);
            }
            NodeOwner::Scope => free.retain(|&node| match nodes.kind(node) {
                NodeKind::Kernel | NodeKind::Empty => true,
                NodeKind::Fill | NodeKind::Copy => {
                    nodes.names[node].iter().all(|name| self.owns(name))
                }
                _ => false,
            }),
            NodeOwner::Caller => {}
        }
        free.iter().for_each(|&node| nodes.claimed[node] = Some(number));
    }

    fn owns(&self, &(address, bytes): &(u64, u64)) -> bool {
        self.memory.contains(address, bytes)
            || self.host.iter().flatten().any(|buffer| is_within(buffer, address, bytes))
    }

    /// Returns the error for a node without an owner. If the node contains a child graph, the error
    /// names only the node's kind. The child graph, rather than the node itself, accesses the
    /// memory.
    fn refusal(&self, nodes: &Nodes<'_>, node: usize) -> CaptureError {
        if nodes.kind(node) == NodeKind::ChildGraph {
            return CaptureError::ForeignNode { kind: NodeKind::ChildGraph };
        }
        let foreign = nodes.names[node].iter().find(|name| !self.owns(name));
        match foreign {
            Some(&(address, bytes)) => CaptureError::ForeignMemory { address, bytes },
            None => CaptureError::ForeignNode { kind: nodes.kind(node) },
        }
    }
}

impl<'a> Nodes<'a> {
    fn new(contents: &'a Contents) -> Self {
        let count = contents.nodes.len();
        let mut before = vec![Vec::new(); count];
        for edge in &contents.order.edges {
            if let Some(before) = before.get_mut(edge.to)
                && edge.from < count
            {
                before.push(edge.from);
            }
        }
        let mut names = vec![Vec::new(); count];
        for &(node, address, bytes) in contents.accesses.iter().chain(&contents.host_accesses) {
            names[node].push((address, bytes));
        }
        names.iter_mut().for_each(|names| names.sort_unstable());
        let [claimed, came, seen] = [(); 3].map(|()| vec![None; count]);
        Self { contents, before, names, claimed, came, seen }
    }

    fn kind(&self, node: usize) -> NodeKind {
        self.contents.nodes[node].kind
    }
}

/// Returns `true` if the buffer contains the whole range `[address, address + bytes)`.
fn is_within(buffer: &HostBuffer, address: u64, bytes: u64) -> bool {
    let range = LeasedRange { address: buffer.address(), bytes: buffer.len() as u64 };
    range.contains(address, bytes)
}
