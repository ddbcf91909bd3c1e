//! Child graphs, which are nodes of another graph. A node contains a copy of the given graph or, on
//! request, the graph itself. In both cases, the child graph is destroyed together with the parent.

use std::collections::HashMap;

use super::World;
use super::state::child::{Copied, Ownership};
use super::state::graph::EdgeData;
use super::state::handle::Kind;
use super::state::work::{NodeKind, Work};
use crate::code::{Code, Outcome};

impl World {
    /// Adds a node that runs another graph.
    pub(crate) fn add_child(
        &mut self,
        graph: u64,
        after: &[u64],
        child: u64,
        ownership: Ownership,
    ) -> Outcome<u64> {
        let (graph, child) = (self.graph(graph)?, self.graph(child)?);
        let after = self.nodes_of(graph, after)?;
        let embedded = match ownership {
            Ownership::Copied => self.copy_graph(child, graph)?,
            Ownership::Moved => {
                if self.graphs[child].parent.is_some() || self.is_within(graph, child) {
                    return Err(Code::INVALID_VALUE);
                }
                self.graphs[child].parent = Some(graph);
                child
            }
        };
        let node = self.new_node(graph, &after, Work::Child(embedded));
        Ok(self.handles.make(Kind::Node, node))
    }

    /// Returns the child graph of a node.
    pub(crate) fn child_of(&mut self, node: u64) -> Outcome<u64> {
        match *self.work_of(node)? {
            Work::Child(embedded) => Ok(self.handles.make(Kind::Graph, embedded)),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    /// Captures a graph launch by adding a copy of the executable graph's current contents.
    pub(crate) fn capture_child(&mut self, stream: usize, exec: usize) -> Outcome<()> {
        let Some((capture, _)) = self.capturing(stream)? else {
            return Err(Code::ILLEGAL_STATE);
        };
        let parent = self.captures[capture].graph;
        let embedded = self.copy_exec(exec, self.execs[exec].graph, parent)?;
        self.capture_work(stream, Work::Child(embedded));
        Ok(())
    }

    /// Returns a graph and all graphs that are nested in it.
    pub(crate) fn all_graphs_in(&self, graph: usize) -> Vec<usize> {
        let mut all = vec![graph];
        let mut next = 0;
        while let Some(graph) = all.get(next) {
            let works = self.graphs[*graph].nodes.iter().map(|node| &self.nodes[*node].work);
            let embedded = works.filter_map(|work| match work {
                Work::Child(embedded) => Some(*embedded),
                _ => None,
            });
            let embedded: Vec<usize> = embedded.collect();
            all.extend(embedded);
            next += 1;
        }
        all
    }

    fn is_within(&self, graph: usize, outer: usize) -> bool {
        let mut next = Some(graph);
        while let Some(own) = next {
            if own == outer {
                return true;
            }
            next = self.graphs[own].parent;
        }
        false
    }

    fn copy_graph(&mut self, graph: usize, parent: usize) -> Outcome<usize> {
        let nodes = self.graphs[graph].nodes.iter().map(|&node| {
            let own = &self.nodes[node];
            (node, own.work.clone(), own.before.clone())
        });
        let nodes: Vec<Copied> = nodes.collect();
        self.embed(nodes, parent, Self::copy_graph)
    }

    /// Copies like [`copy_graph`](Self::copy_graph), but takes the nodes' parameters from the
    /// executable graph.
    fn copy_exec(&mut self, exec: usize, graph: usize, parent: usize) -> Outcome<usize> {
        let all = &self.execs[exec].nodes;
        let node_at = |&(place, data): &(usize, EdgeData)| (all[place].node, data);
        let is_there = |(node, _): &(usize, EdgeData)| self.nodes[*node].graph == graph;
        let own = all.iter().filter(|own| self.nodes[own.node].graph == graph);
        let nodes = own.map(|own| {
            // If a child graph is empty, the end of its node follows the node's beginning.
            let is_another = |(node, _): &(usize, EdgeData)| *node != own.node;
            let before = own.edges.iter().map(node_at).filter(is_there).filter(is_another);
            (own.node, own.work.clone(), before.collect())
        });
        let nodes: Vec<Copied> = nodes.collect();
        self.embed(nodes, parent, |world, child, parent| world.copy_exec(exec, child, parent))
    }

    /// Adds a child graph that consists of these nodes. If a node occurs a second time, the second
    /// entry is the end of a node that contains a graph.
    fn embed(
        &mut self,
        nodes: Vec<Copied>,
        parent: usize,
        copy: impl Fn(&mut Self, usize, usize) -> Outcome<usize>,
    ) -> Outcome<usize> {
        let embedded = self.new_graph();
        self.graphs[embedded].parent = Some(parent);
        let mut copies = HashMap::new();
        for (node, work, _) in &nodes {
            if copies.contains_key(node) {
                continue;
            }
            let work = match work {
                Work::Child(child) => Work::Child(copy(self, *child, embedded)?),
                work => match work.kind() {
                    NodeKind::Allocate | NodeKind::Free | NodeKind::Conditional => {
                        self.graphs[embedded].lives = false;
                        return Err(Code::NOT_SUPPORTED);
                    }
                    _ => work.clone(),
                },
            };
            copies.insert(*node, self.new_node_behind(embedded, Vec::new(), work));
        }
        for (node, _, before) in nodes {
            let copied = |(node, data): (usize, EdgeData)| (copies[&node], data);
            // The end of such a node follows nodes that belong to its child graph and not to this
            // graph.
            if !before.is_empty() {
                self.nodes[copies[&node]].before = before.into_iter().map(copied).collect();
            }
        }
        Ok(embedded)
    }
}
