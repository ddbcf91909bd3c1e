//! Lists the nodes of an executable graph, each after the nodes that it waits for. A child graph is
//! inlined: first the node that contains it, then its nodes, then an end node that follows all of
//! them.

use std::collections::{HashMap, HashSet};

use super::World;
use super::state::exec::ExecNode;
use super::state::graph::EdgeData;
use super::state::work::Work;
use crate::code::{Code, Outcome, unmodelled};

/// The list built so far.
struct Flat<'w> {
    world: &'w World,
    /// The total number of nodes that the finished list will contain.
    count: usize,
    nodes: Vec<ExecNode>,
    pasts: Vec<Past>,
}

/// The nodes that precede a given node.
#[derive(Clone, Debug, Default)]
struct Past {
    /// Nodes that have finished when the node begins, and whose writes are visible to it.
    begun: Vec<bool>,
    /// Nodes that have finished when the node ends. They include its programmatic dependencies.
    ended: Vec<bool>,
}

impl World {
    /// Returns the nodes, and for each node all nodes that precede it. Fails if there is a cycle.
    pub(super) fn copy_nodes(&self, graph: usize) -> Outcome<(Vec<ExecNode>, Vec<Vec<bool>>)> {
        let graphs = self.all_graphs_in(graph);
        let nodes: usize = graphs.iter().map(|graph| self.graphs[*graph].nodes.len()).sum();
        // Each graph except the first adds an end node for the node that contains it.
        let count = nodes + graphs.len() - 1;
        let mut flat = Flat { world: self, count, nodes: Vec::new(), pasts: Vec::new() };
        flat.add_graph(graph, None)?;
        Ok((flat.nodes, flat.pasts.into_iter().map(|past| past.begun).collect()))
    }
}

impl Flat<'_> {
    /// Adds the nodes of a graph after the given position. Returns the positions of nodes that no
    /// other node of the graph follows.
    fn add_graph(&mut self, graph: usize, behind: Option<usize>) -> Outcome<Vec<usize>> {
        let mut open = self.world.graphs[graph].nodes.clone();
        let mut ends = HashMap::new();
        let mut is_before = HashSet::new();
        while !open.is_empty() {
            let left = open.len();
            for node in std::mem::take(&mut open) {
                let before = &self.world.nodes[node].before;
                let place = |(node, data): &(usize, EdgeData)| Some((*ends.get(node)?, *data));
                let edges: Option<Vec<(usize, EdgeData)>> = before.iter().map(place).collect();
                let Some(mut edges) = edges else {
                    open.push(node);
                    continue;
                };
                is_before.extend(edges.iter().map(|(place, _)| *place));
                if edges.is_empty() {
                    edges.extend(behind.map(|place| (place, EdgeData::default())));
                }
                ends.insert(node, self.add_node(node, edges)?);
            }
            if open.len() == left {
                return Err(Code::INVALID_VALUE);
            }
        }
        let mut ends: Vec<usize> = ends.into_values().collect();
        ends.retain(|place| !is_before.contains(place));
        ends.sort_unstable();
        Ok(ends)
    }

    /// Adds a node. Returns the position after which the node has finished.
    fn add_node(&mut self, node: usize, edges: Vec<(usize, EdgeData)>) -> Outcome<usize> {
        let work = self.world.nodes[node].work.clone();
        match work {
            Work::Conditional(_) => Err(unmodelled("an executable graph with a choice in it")),
            Work::Opaque(kind) => {
                Err(unmodelled(&format!("an executable graph with a node of kind {}", kind as u32)))
            }
            Work::Child(child) => {
                let begin = self.push(node, work, edges);
                let mut last = self.add_graph(child, Some(begin))?;
                if last.is_empty() {
                    last.push(begin);
                }
                let edges = last.into_iter().map(|place| (place, EdgeData::default())).collect();
                Ok(self.push(node, Work::Empty, edges))
            }
            work => Ok(self.push(node, work, edges)),
        }
    }

    fn push(&mut self, node: usize, work: Work, edges: Vec<(usize, EdgeData)>) -> usize {
        let past = past(&work, &edges, &self.pasts, self.count);
        let before = waits(&past, &edges, &self.pasts);
        self.nodes.push(ExecNode { node, work, edges, before });
        self.pasts.push(past);
        self.nodes.len() - 1
    }
}

/// Returns the nodes that precede a node with these edges. A programmatic edge does not order
/// memory accesses unless the kernel waits for its dependency.
fn past(work: &Work, edges: &[(usize, EdgeData)], pasts: &[Past], count: usize) -> Past {
    let waits = match work {
        Work::Kernel(call) => call.launch.program.waits_for_dependency,
        _ => false,
    };
    let mut past = Past { begun: vec![false; count], ended: vec![false; count] };
    for (place, data) in edges {
        let mut all = pasts[*place].ended.clone();
        all[*place] = true;
        for (node, comes_before) in all.into_iter().enumerate() {
            past.ended[node] |= comes_before;
            past.begun[node] |= comes_before && (data.is_plain() || waits);
        }
    }
    past
}

/// Returns the nodes that a node must wait for: the sources of its edges, and predecessors of these
/// sources for which the sources do not wait.
fn waits(past: &Past, edges: &[(usize, EdgeData)], pasts: &[Past]) -> Vec<usize> {
    let mut waits: Vec<usize> = edges.iter().map(|(place, _)| *place).collect();
    for (place, _) in edges {
        let own = &pasts[*place];
        let loose = own.ended.iter().zip(&own.begun).enumerate();
        waits.extend(loose.filter(|(_, (ended, begun))| **ended && !**begun).map(|(node, _)| node));
    }
    waits.retain(|node| past.begun[*node]);
    waits.sort_unstable();
    waits.dedup();
    waits
}
