//! Graphs: their nodes, the dependencies of nodes, and queries of both.

use std::collections::HashSet;

use super::World;
use super::state::graph::{EdgeData, Graph, Node};
use super::state::handle::Kind;
use super::state::kernel::KernelCall;
use super::state::work::{NodeKind, Work};
use crate::code::{Code, Outcome};

impl World {
    pub(crate) fn new_graph(&mut self) -> usize {
        let (nodes, allocations) = (Vec::new(), Vec::new());
        self.graphs.push(Graph { lives: true, parent: None, nodes, allocations });
        self.graphs.len() - 1
    }

    pub(crate) fn create_graph(&mut self) -> Outcome<u64> {
        self.initialized()?;
        let graph = self.new_graph();
        Ok(self.handles.make(Kind::Graph, graph))
    }

    pub(crate) fn graph(&mut self, handle: u64) -> Outcome<usize> {
        self.initialized()?;
        self.find(Kind::Graph, handle, "use of a graph").map_err(|_| Code::INVALID_VALUE)
    }

    pub(crate) fn node(&mut self, handle: u64) -> Outcome<usize> {
        self.initialized()?;
        self.find(Kind::Node, handle, "use of a node").map_err(|_| Code::INVALID_VALUE)
    }

    /// Destroys a graph. Child graphs are destroyed together with their parent.
    pub(crate) fn destroy_graph(&mut self, handle: u64) -> Outcome<()> {
        let graph = self.graph(handle)?;
        if self.graphs[graph].parent.is_some() {
            return Err(Code::INVALID_VALUE);
        }
        self.end_graph(graph);
        Ok(())
    }

    fn end_graph(&mut self, graph: usize) {
        for graph in self.all_graphs_in(graph) {
            self.graphs[graph].lives = false;
            for node in self.graphs[graph].nodes.clone() {
                self.nodes[node].lives = false;
            }
        }
    }

    /// Adds a node that depends on other nodes of the same graph.
    pub(crate) fn new_node(&mut self, graph: usize, after: &[usize], work: Work) -> usize {
        let before = after.iter().map(|node| (*node, EdgeData::default())).collect();
        self.new_node_behind(graph, before, work)
    }

    /// Adds a node whose edges may be programmatic.
    pub(crate) fn new_node_behind(
        &mut self,
        graph: usize,
        before: Vec<(usize, EdgeData)>,
        work: Work,
    ) -> usize {
        self.nodes.push(Node { lives: true, graph, work, before });
        let node = self.nodes.len() - 1;
        self.graphs[graph].nodes.push(node);
        node
    }

    /// Returns the most recently added node.
    pub(crate) fn last_node(&self, graph: usize) -> usize {
        self.graphs[graph].nodes.last().copied().unwrap_or_default()
    }

    /// Adds a node. The graph and the dependencies are given by handles.
    pub(crate) fn add_node(&mut self, graph: u64, after: &[u64], work: Work) -> Outcome<u64> {
        let graph = self.graph(graph)?;
        let after = self.nodes_of(graph, after)?;
        if matches!(&work, Work::Fill(fill) if !fill.is_valid()) {
            return Err(Code::INVALID_VALUE);
        }
        let node = self.new_node(graph, &after, work);
        Ok(self.handles.make(Kind::Node, node))
    }

    /// Adds a node that allocates memory, and returns the address.
    pub(crate) fn add_allocation(
        &mut self,
        graph: u64,
        after: &[u64],
        bytes: usize,
        ordinal: i32,
    ) -> Outcome<(u64, u64)> {
        let device = self.device(ordinal)?;
        let graph = self.graph(graph)?;
        let after = self.nodes_of(graph, after)?;
        if bytes == 0 {
            return Err(Code::INVALID_VALUE);
        }
        self.refuse_memory_in_child(graph)?;
        let address = self.address_in_graph(graph, &after, bytes)?;
        let node = self.new_node(graph, &after, Work::Allocate { address, bytes, device });
        self.allocated_in_graph(graph, address, bytes, device, node);
        Ok((self.handles.make(Kind::Node, node), address))
    }

    /// Adds a node that frees an allocation of the same graph.
    pub(crate) fn add_free(&mut self, graph: u64, after: &[u64], address: u64) -> Outcome<u64> {
        let graph = self.graph(graph)?;
        let after = self.nodes_of(graph, after)?;
        self.refuse_memory_in_child(graph)?;
        if !self.can_free_in_graph(graph, address) {
            return Err(Code::INVALID_VALUE);
        }
        let node = self.new_node(graph, &after, Work::Free { address });
        self.freed_in_graph(graph, address, node);
        Ok(self.handles.make(Kind::Node, node))
    }

    /// "Allocation and free nodes cannot be added to the returned graph" (`cuGraphChildGraphNodeGetGraph`).
    fn refuse_memory_in_child(&self, graph: usize) -> Outcome<()> {
        self.graphs[graph].parent.map_or(Ok(()), |_| Err(Code::NOT_SUPPORTED))
    }

    pub(crate) fn nodes_of(&mut self, graph: usize, handles: &[u64]) -> Outcome<Vec<usize>> {
        let mut nodes = Vec::new();
        for handle in handles {
            let node = self.node(*handle)?;
            if self.nodes[node].graph != graph || nodes.contains(&node) {
                return Err(Code::INVALID_VALUE);
            }
            nodes.push(node);
        }
        Ok(nodes)
    }

    /// Adds or removes edges. Either all changes take effect or none.
    pub(crate) fn change_edges(
        &mut self,
        graph: u64,
        edges: &[(u64, u64, EdgeData)],
        add: bool,
    ) -> Outcome<()> {
        let graph = self.graph(graph)?;
        let mut found = Vec::new();
        for (from, to, data) in edges {
            let nodes = self.nodes_of(graph, &[*from, *to])?;
            let (from, to) = (nodes[0], nodes[1]);
            let is_there = self.nodes[to].before.iter().any(|(node, _)| *node == from);
            let is_kernel = |node: usize| self.nodes[node].work.kind() == NodeKind::Kernel;
            let between_kernels = is_kernel(from) && is_kernel(to) && data.is_programmatic();
            if is_there == add || !(data.is_plain() || between_kernels) {
                return Err(Code::INVALID_VALUE);
            }
            found.push((from, to, *data));
        }
        for (from, to, data) in found {
            let before = &mut self.nodes[to].before;
            if add {
                before.push((from, data));
            } else {
                before.retain(|(node, _)| *node != from);
            }
        }
        Ok(())
    }

    pub(crate) fn node_handles(&mut self, graph: u64) -> Outcome<Vec<u64>> {
        let graph = self.graph(graph)?;
        let handle = |node: &usize| self.handles.make(Kind::Node, *node);
        Ok(self.graphs[graph].nodes.iter().map(handle).collect())
    }

    pub(crate) fn edge_handles(&mut self, graph: u64) -> Outcome<Vec<(u64, u64, EdgeData)>> {
        let graph = self.graph(graph)?;
        let mut edges = Vec::new();
        for node in &self.graphs[graph].nodes {
            for (from, data) in &self.nodes[*node].before {
                let handle = |node| self.handles.make(Kind::Node, node);
                edges.push((handle(*from), handle(*node), *data));
            }
        }
        Ok(edges)
    }

    pub(crate) fn dependencies_of(&mut self, handle: u64) -> Outcome<Vec<(u64, EdgeData)>> {
        let node = self.node(handle)?;
        let handle =
            |(node, data): &(usize, EdgeData)| (self.handles.make(Kind::Node, *node), *data);
        Ok(self.nodes[node].before.iter().map(handle).collect())
    }

    pub(crate) fn destroy_node(&mut self, handle: u64) -> Outcome<()> {
        let node = self.node(handle)?;
        if matches!(self.nodes[node].work.kind(), NodeKind::Allocate | NodeKind::Free) {
            return Err(Code::NOT_SUPPORTED);
        }
        let graph = self.nodes[node].graph;
        if let Work::Child(embedded) = self.nodes[node].work {
            self.end_graph(embedded);
        }
        self.nodes[node].lives = false;
        self.graphs[graph].nodes.retain(|other| *other != node);
        for other in self.graphs[graph].nodes.clone() {
            self.nodes[other].before.retain(|(before, _)| *before != node);
        }
        Ok(())
    }

    /// Returns the work of a node.
    pub(crate) fn work_of(&mut self, handle: u64) -> Outcome<&Work> {
        let node = self.node(handle)?;
        Ok(&self.nodes[node].work)
    }

    /// Sets a different kernel, or different parameters, for a kernel node.
    pub(crate) fn set_kernel(&mut self, handle: u64, call: KernelCall) -> Outcome<()> {
        let node = self.node(handle)?;
        let Work::Kernel(own) = &mut self.nodes[node].work else { return Err(Code::INVALID_VALUE) };
        *own = call;
        Ok(())
    }

    /// Returns the addresses of a kernel node's parameters. They are valid until the node is
    /// queried again.
    pub(crate) fn show_parameters(&mut self, handle: u64) -> Outcome<(KernelCall, &[u64])> {
        let node = self.node(handle)?;
        let Work::Kernel(call) = self.nodes[node].work.clone() else {
            return Err(Code::INVALID_VALUE);
        };
        let bytes = call.launch.parameters.clone();
        let start = bytes.as_ptr().expose_provenance() as u64;
        let parameters = &call.launch.program.parameters;
        let places = parameters.iter().map(|own| start + own.offset as u64).collect();
        let shown = self.shown_parameters.entry(node).or_default();
        *shown = (bytes, places);
        Ok((call, &shown.1))
    }

    /// Returns all nodes that must have finished before these nodes begin.
    pub(crate) fn ancestors(&self, graph: usize, nodes: &[usize]) -> HashSet<usize> {
        debug_assert!(nodes.iter().all(|node| self.nodes[*node].graph == graph));
        let mut found = HashSet::new();
        let mut open = nodes.to_vec();
        while let Some(node) = open.pop() {
            for (before, _) in &self.nodes[node].before {
                if found.insert(*before) {
                    open.push(*before);
                }
            }
        }
        found
    }
}
