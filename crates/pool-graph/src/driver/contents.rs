//! The contents of a graph: its nodes, its edges, and the memory that its fills and copies access.
//!
//! The safety proofs in this module rely on the facts listed in [`handles`](super::handles).

use std::mem::MaybeUninit;

use pool_driver::answer::answer;
use pool_driver::cudarc::driver::sys;
use pool_driver::error::CudaError;

use super::graph_reading::{child_graph, edges, kind_of, nodes};
use super::handles::Graph;
use super::node_memory::{self, NamedMemory, UnreadableReason};
use super::refusal::NodeKind;
use crate::verify::{GraphOrder, OrderEdge};

/// A graph's contents, as reported by the driver.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// The graph's nodes. The node numbers in `order` are indices into this list.
    pub(crate) nodes: Vec<Node>,
    pub(crate) order: GraphOrder,
    /// The device memory that nodes access, as tuples of node index, address, and size. Nodes of
    /// child graphs are included.
    pub(crate) accesses: Vec<(usize, u64, u64)>,
    /// The entries in `accesses` that are writes.
    pub(crate) writes: Vec<(usize, u64, u64)>,
    /// The host memory that nodes access, as tuples of node index, address, and size.
    pub(crate) host_accesses: Vec<(usize, u64, u64)>,
    /// The number of nodes that allocate or free memory. Nodes of child graphs are included.
    pub(crate) memory_nodes: usize,
    /// The first node for which the driver does not report the accessed memory. This node might
    /// belong to a child graph.
    pub(crate) unreadable: Option<(NodeKind, UnreadableReason)>,
}

/// A node of a graph.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) handle: u64,
    pub(crate) kind: NodeKind,
}

impl Contents {
    /// Reads a graph's contents from the driver.
    pub(crate) fn of(graph: &Graph) -> Result<Self, CudaError> {
        let graph = graph.handle();
        // SAFETY: the graph is live because its owner is borrowed.
        let nodes = unsafe { nodes(graph) }?;
        let mut by_handle: Vec<(sys::CUgraphNode, usize)> =
            nodes.iter().copied().zip(0..).collect();
        by_handle.sort_unstable();
        let find = |node: sys::CUgraphNode| {
            let place = by_handle.binary_search_by_key(&node, |&(handle, _)| handle);
            place.map_or(usize::MAX, |place| by_handle[place].1)
        };
        // SAFETY: the graph is live because its owner is borrowed.
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

    /// Returns the kind of the node with this handle, or `None` if the graph does not contain it.
    pub(crate) fn kind_of(&self, node: u64) -> Option<NodeKind> {
        self.nodes.iter().find(|one| one.handle == node).map(|one| one.kind)
    }

    /// Returns the kind of a node. If the driver reports the memory that the node accesses, this
    /// method also records it. If the node contains a child graph, that graph's memory accesses
    /// count as accesses by the node.
    fn read_node(&mut self, number: usize, node: sys::CUgraphNode) -> Result<NodeKind, CudaError> {
        let kind = self.read_one(number, node)?;
        let mut open = Vec::new();
        if kind == NodeKind::ChildGraph {
            open.push(node);
        }
        while let Some(outer) = open.pop() {
            // SAFETY: the node belongs to the borrowed graph or to one of its nested graphs, and
            // its kind is `ChildGraph`.
            let child = unsafe { child_graph(outer) }?;
            // SAFETY: the child graph stays live for as long as the graph that contains its node.
            for node in unsafe { nodes(child) }? {
                if self.read_one(number, node)? == NodeKind::ChildGraph {
                    open.push(node);
                }
            }
        }
        Ok(kind)
    }

    fn read_one(&mut self, number: usize, node: sys::CUgraphNode) -> Result<NodeKind, CudaError> {
        // SAFETY: the node belongs to the borrowed graph or to one of its nested graphs.
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
        // SAFETY: the struct consists only of integers, so an all-zero value is valid.
        let mut fill: sys::CUDA_MEMSET_NODE_PARAMS = unsafe { std::mem::zeroed() };
        // SAFETY: the node belongs to the borrowed graph. `fill` outlives the call that writes to
        // it.
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
        // SAFETY: the node belongs to the borrowed graph. `place` outlives the call that writes to
        // it.
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
