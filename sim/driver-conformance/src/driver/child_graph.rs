//! Graphs that are nodes of other graphs.

use std::ops::Deref;
use std::ptr;

use cudarc::driver::sys;

use super::graph::{Graph, Node};
use super::refusal::Outcome;

/// The child graph of a node. It belongs to the node and borrows from the graph that contains the
/// node.
#[derive(Debug)]
pub struct ChildGraph<'g> {
    graph: Graph,
    _node: Node<'g>,
}

impl Graph {
    /// Adds a node that runs a copy of another graph.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code. The driver refuses graphs that allocate or free memory.
    pub fn add_child(&self, child: &Graph, after: &[Node<'_>]) -> Outcome<Node<'_>> {
        let after: Vec<_> = after.iter().map(Node::raw).collect();
        let (graph, child, first, count) = (self.raw(), child.raw(), after.as_ptr(), after.len());
        let mut node = ptr::null_mut();
        // SAFETY: the graphs and the nodes are live (1).
        // The array has the stated number of entries.
        unsafe { call!(cuGraphAddChildGraphNode(&raw mut node, graph, first, count, child)) }?;
        Ok(self.node(node))
    }
}

impl<'g> Node<'g> {
    /// Returns the child graph of this node. It must not be destroyed, and no memory nodes may be
    /// added.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code, for example if the node contains no graph.
    pub fn child_graph(&self) -> Outcome<ChildGraph<'g>> {
        let mut graph: sys::CUgraph = ptr::null_mut();
        // SAFETY: the node and its graph are live (1).
        // The output variable outlives the call.
        unsafe { call!(cuGraphChildGraphNodeGetGraph(self.raw(), &raw mut graph)) }?;
        // SAFETY: the child graph lives as long as the graph that contains the node, which is
        // borrowed.
        // The value is only lent, so it is not destroyed.
        let graph = unsafe { Graph::from_raw(graph) };
        Ok(ChildGraph { graph, _node: *self })
    }
}

impl Deref for ChildGraph<'_> {
    type Target = Graph;

    fn deref(&self) -> &Graph {
        &self.graph
    }
}
