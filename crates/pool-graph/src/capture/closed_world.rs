//! A graph is a closed world: each of its nodes is accounted for by what put it there. An operation of the
//! capture answers for its own node, of its kind and with its addresses, and for nothing else that came in
//! meanwhile; a scope for launches, and for fills and copies of the graph's own memory; the caller of
//! `enqueue` for whatever the work put there. What nobody answers for came past the capture, by whichever
//! thread and however, and the graph is refused.

use std::collections::HashMap;

use pool_driver::host_buffer::HostBuffer;

use super::body::{NodeOwner, Span};
use super::error::CaptureError;
use super::memory::GraphMemory;
use crate::base::range::LeasedRange;
use crate::driver::{Contents, NodeKind};

/// What a graph owns, and what was done to make it.
pub(super) struct ClosedWorld<'a> {
    pub(super) memory: &'a GraphMemory,
    pub(super) host: &'a [Option<HostBuffer>],
    pub(super) spans: &'a [Span],
    /// The places of nodes, by handle.
    pub(super) numbers: &'a HashMap<u64, usize>,
}

/// The nodes of a graph as they are, and who answers for them so far.
struct Nodes<'a> {
    contents: &'a Contents,
    /// For each node the nodes that it comes directly after.
    before: Vec<Vec<usize>>,
    /// For each node the memory that it names, on the device and the host, in order.
    names: Vec<Vec<(u64, u64)>>,
    /// For each node the number of the span that answers for it; none so far where nobody does.
    claimed: Vec<Option<usize>>,
    /// The first span that each came in during: no later one that began after its end answers for it.
    came: Vec<Option<usize>>,
    /// For each node the span that it was looked at for last.
    seen: Vec<Option<usize>>,
}

impl ClosedWorld<'_> {
    /// Checks that every node is accounted for.
    pub(super) fn check(&self, contents: &Contents) -> Result<(), CaptureError> {
        let mut nodes = Nodes::new(contents);
        for (number, span) in self.spans.iter().enumerate() {
            let within = self.nodes_within(&mut nodes, number, span);
            self.claim(&mut nodes, number, span, &within);
        }
        let stranger = nodes.claimed.iter().position(Option::is_none);
        stranger.map_or(Ok(()), |node| Err(self.refusal(&nodes, node)))
    }

    /// The nodes that came in between the beginning and the end of a span, those of spans inside of it
    /// included.
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
                // It does nothing, and may be how a driver joins streams.
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

    /// Of a child graph it is said that there is one: what it names, it names in there.
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

/// Whether all of `[address, address + bytes)` is in a buffer.
fn is_within(buffer: &HostBuffer, address: u64, bytes: u64) -> bool {
    let range = LeasedRange { address: buffer.address(), bytes: buffer.len() as u64 };
    range.contains(address, bytes)
}
