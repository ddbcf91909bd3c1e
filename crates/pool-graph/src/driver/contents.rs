//! The contents of a graph: its nodes, its edges, and the memory of its fills and copies.
//!
//! The facts for the proofs are in [`handles`](super::handles).

use std::mem::MaybeUninit;

use pool_driver::answer::answer;
use pool_driver::cudarc::driver::sys;
use pool_driver::error::CudaError;

use super::graph_reading::{child_graph, edges, kind_of, nodes};
use super::handles::Graph;
use super::node_memory::{self, NamedMemory, UnreadableReason};
use super::refusal::NodeKind;
use crate::verify::{GraphOrder, OrderEdge};

/// The contents of a graph.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// The nodes; their indices are the numbers in `order`.
    pub(crate) nodes: Vec<Node>,
    pub(crate) order: GraphOrder,
    /// Device memory of nodes, including those of child graphs: node, address, bytes.
    pub(crate) accesses: Vec<(usize, u64, u64)>,
    /// Those of the accesses that write.
    pub(crate) writes: Vec<(usize, u64, u64)>,
    /// Host memory of nodes, in the same form.
    pub(crate) host_accesses: Vec<(usize, u64, u64)>,
    /// The number of nodes that allocate or free memory, including those of child graphs.
    pub(crate) memory_nodes: usize,
    /// The first node, or node of a child graph, whose memory cannot be read.
    pub(crate) unreadable: Option<(NodeKind, UnreadableReason)>,
}

/// A node of a graph.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) handle: u64,
    pub(crate) kind: NodeKind,
}

impl Contents {
    /// Reads the contents of a graph.
    pub(crate) fn of(graph: &Graph) -> Result<Self, CudaError> {
        let graph = graph.handle();
        // SAFETY: the graph is live (1).
        let nodes = unsafe { nodes(graph) }?;
        let mut by_handle: Vec<(sys::CUgraphNode, usize)> =
            nodes.iter().copied().zip(0..).collect();
        by_handle.sort_unstable();
        let find = |node: sys::CUgraphNode| {
            let place = by_handle.binary_search_by_key(&node, |&(handle, _)| handle);
            place.map_or(usize::MAX, |place| by_handle[place].1)
        };
        // SAFETY: the graph is live (1).
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

    /// Returns the kind of a node, by its handle, or `None` if the graph has no such node.
    pub(crate) fn kind_of(&self, node: u64) -> Option<NodeKind> {
        self.nodes.iter().find(|one| one.handle == node).map(|one| one.kind)
    }

    /// Returns the kind of a node, and records its memory if that can be read. The memory of a child graph, and of
    /// graphs nested in it, counts as that of the node that contains it.
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
        // SAFETY: the node is one of a graph that is borrowed (1), the place is valid (3).
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
        // SAFETY: the node is one of a graph that is borrowed (1), the place is valid (3).
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
