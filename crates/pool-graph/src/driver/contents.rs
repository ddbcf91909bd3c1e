//! What a graph is made of: its nodes, its edges, and the memory that its fills and copies name.
//!
//! What the proofs rely on is in [`handles`](super::handles).

use std::mem::MaybeUninit;

use pool_driver::answer::answer;
use pool_driver::cudarc::driver::sys;
use pool_driver::error::CudaError;

use super::graph_reading::{child_graph, edges, kind_of, nodes};
use super::handles::Graph;
use super::node_memory::{self, NamedMemory, UnreadableReason};
use super::refusal::NodeKind;
use crate::verify::{GraphOrder, OrderEdge};

/// What a graph has in it.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// The nodes; their places are the numbers in `order`.
    pub(crate) nodes: Vec<Node>,
    pub(crate) order: GraphOrder,
    /// Addresses on the device that nodes name, or nodes of graphs in them, with bytes: node, address, bytes.
    pub(crate) accesses: Vec<(usize, u64, u64)>,
    /// Those of the accesses that write.
    pub(crate) writes: Vec<(usize, u64, u64)>,
    /// Addresses on the host that nodes name, in the same way.
    pub(crate) host_accesses: Vec<(usize, u64, u64)>,
    /// How many nodes allocate or free memory, those of graphs in nodes included.
    pub(crate) memory_nodes: usize,
    /// The first node, or node of a graph in one, whose memory cannot be told.
    pub(crate) unreadable: Option<(NodeKind, UnreadableReason)>,
}

/// A node of a graph.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) handle: u64,
    pub(crate) kind: NodeKind,
}

impl Contents {
    /// What is in a graph, by its own account.
    pub(crate) fn of(graph: &Graph) -> Result<Self, CudaError> {
        let graph = graph.handle();
        // SAFETY: the graph is good (1).
        let nodes = unsafe { nodes(graph) }?;
        let mut by_handle: Vec<(sys::CUgraphNode, usize)> =
            nodes.iter().copied().zip(0..).collect();
        by_handle.sort_unstable();
        let find = |node: sys::CUgraphNode| {
            let place = by_handle.binary_search_by_key(&node, |&(handle, _)| handle);
            place.map_or(usize::MAX, |place| by_handle[place].1)
        };
        // SAFETY: the graph is good (1).
        let edges = unsafe { edges(graph) }?.into_iter().map(|edge| OrderEdge {
            from: find(edge.from),
            to: find(edge.to),
            full: edge.full,
        });
        let order = GraphOrder { nodes: nodes.len(), edges: edges.collect() };
        let mut contents = Self { order, ..Self::default() };
        for (number, &node) in nodes.iter().enumerate() {
            let kind = contents.read_node(number, node)?;
            contents.nodes.push(Node { handle: node.addr() as u64, kind });
        }
        Ok(contents)
    }

    /// The kind of a node, by its handle; none where the graph has no such node.
    pub(crate) fn kind_of(&self, node: u64) -> Option<NodeKind> {
        self.nodes.iter().find(|one| one.handle == node).map(|one| one.kind)
    }

    /// What kind a node is, noting what it does with memory, as far as it says. What a child graph does, and the
    /// graphs in that, counts as done by the node that it is in.
    fn read_node(&mut self, number: usize, node: sys::CUgraphNode) -> Result<NodeKind, CudaError> {
        let kind = self.read_one(number, node)?;
        let mut open = Vec::new();
        if kind == NodeKind::ChildGraph {
            open.push(node);
        }
        while let Some(outer) = open.pop() {
            // SAFETY: the node is one of a graph that is borrowed (1), and holds a graph.
            let child = unsafe { child_graph(outer) }?;
            // SAFETY: it lives as long as the graph that its node is in.
            for node in unsafe { nodes(child) }? {
                if self.read_one(number, node)? == NodeKind::ChildGraph {
                    open.push(node);
                }
            }
        }
        Ok(kind)
    }

    fn read_one(&mut self, number: usize, node: sys::CUgraphNode) -> Result<NodeKind, CudaError> {
        // SAFETY: the node is one of a graph that is borrowed (1), or of a graph in that.
        let kind = unsafe { kind_of(node) }?;
        match kind {
            NodeKind::Allocate | NodeKind::Free => self.memory_nodes += 1,
            NodeKind::Fill => self.read_fill(number, node)?,
            NodeKind::Copy => self.read_copy(number, node)?,
            _ if kind.tells_its_memory() => {}
            _ => self.note_unreadable(kind, UnreadableReason::Kind),
        }
        Ok(kind)
    }

    fn read_fill(&mut self, number: usize, node: sys::CUgraphNode) -> Result<(), CudaError> {
        // SAFETY: integers alone: all zero is a value.
        let mut fill: sys::CUDA_MEMSET_NODE_PARAMS = unsafe { std::mem::zeroed() };
        // SAFETY: the node is one of a graph that is borrowed (1), the place good (3).
        let asked = unsafe { sys::cuGraphMemsetNodeGetParams(node, &raw mut fill) };
        answer("cuGraphMemsetNodeGetParams", asked.result())?;
        match node_memory::of_fill(&fill) {
            Ok(named) => self.note(number, named, true),
            Err(reason) => self.note_unreadable(NodeKind::Fill, reason),
        }
        Ok(())
    }

    fn read_copy(&mut self, number: usize, node: sys::CUgraphNode) -> Result<(), CudaError> {
        let mut place = MaybeUninit::<sys::CUDA_MEMCPY3D>::zeroed();
        // SAFETY: the node is one of a graph that is borrowed (1), the place good (3).
        let asked = unsafe { sys::cuGraphMemcpyNodeGetParams(node, place.as_mut_ptr()) };
        answer("cuGraphMemcpyNodeGetParams", asked.result())?;
        match node_memory::of_copy(&place) {
            Ok([read, written]) => {
                self.note(number, read, false);
                self.note(number, written, true);
            }
            Err(reason) => self.note_unreadable(NodeKind::Copy, reason),
        }
        Ok(())
    }

    fn note(&mut self, number: usize, named: NamedMemory, writes: bool) {
        let NamedMemory { is_host, address, bytes } = named;
        let list = if is_host { &mut self.host_accesses } else { &mut self.accesses };
        list.push((number, address, bytes));
        if writes && !is_host {
            self.writes.push((number, address, bytes));
        }
    }

    fn note_unreadable(&mut self, kind: NodeKind, reason: UnreadableReason) {
        self.unreadable.get_or_insert((kind, reason));
    }
}
