//! A topological order of the named nodes. A node is named if an edge, a region, or an access
//! refers to it. Other modules of the verifier identify a node by its position in this order. A
//! node's predecessors always have lower positions than the node itself.

use std::collections::VecDeque;

use super::error::LayoutViolation;
use super::layout::GraphOrder;
use super::lists::Lists;

/// The named nodes in topological order, and the edges that order memory accesses.
#[derive(Debug)]
pub(super) struct Order {
    /// The named nodes, sorted by their numbers. The list is limited to named nodes because a graph
    /// might contain far more nodes than fit into memory.
    named: Vec<usize>,
    /// The position of each named node in the topological order.
    places: Vec<usize>,
    /// For each position, the earlier positions with a full edge to it.
    before: Lists,
}

impl Order {
    /// Builds the topological order of all nodes that belong to an edge or to `others`.
    pub(super) fn of(
        graph: &GraphOrder,
        others: impl Iterator<Item = usize>,
    ) -> Result<Self, LayoutViolation> {
        let joined = graph.edges.iter().flat_map(|edge| [edge.from, edge.to]);
        if let Some(node) = joined.clone().find(|&node| node >= graph.nodes) {
            return Err(LayoutViolation::UnknownNode { node, nodes: graph.nodes });
        }
        let mut named: Vec<usize> = joined.chain(others).collect();
        named.sort_unstable();
        named.dedup();
        let places = walk(graph, &named).ok_or(LayoutViolation::Circle)?;
        let place = |node| places[index(&named, node)];
        let full = graph.edges.iter().filter(|edge| edge.full);
        let before =
            Lists::new(named.len(), || full.clone().map(|edge| (place(edge.to), place(edge.from))));
        Ok(Self { named, places, before })
    }

    /// Returns the position of a named node in the topological order.
    pub(super) fn place(&self, node: usize) -> usize {
        self.places[index(&self.named, node)]
    }

    /// Returns the positions that have a full edge to `place`. The nodes at these positions
    /// complete before the node at `place` begins.
    pub(super) fn before(&self, place: usize) -> &[usize] {
        self.before.of(place)
    }
}

/// Returns a node's index in the list of named nodes.
fn index(named: &[usize], node: usize) -> usize {
    named.partition_point(|&other| other < node)
}

/// Returns each node's position in a topological order. Returns `None` if the edges form a cycle.
///
/// Edges of all kinds are included because a valid graph has no cycles at all. The function visits
/// the nodes in the order in which they become ready. Nodes from concurrent streams therefore have
/// nearby positions, so later passes are short.
fn walk(graph: &GraphOrder, named: &[usize]) -> Option<Vec<usize>> {
    let ends = || graph.edges.iter().map(|edge| (index(named, edge.from), index(named, edge.to)));
    let followers = Lists::new(named.len(), ends);
    let mut waits_for = vec![0_usize; named.len()];
    ends().for_each(|(_, to)| waits_for[to] += 1);
    let mut ready: VecDeque<usize> =
        (0..named.len()).filter(|&node| waits_for[node] == 0).collect();
    let mut places = vec![0; named.len()];
    let mut walked = 0;
    while let Some(node) = ready.pop_front() {
        places[node] = walked;
        walked += 1;
        for &follower in followers.of(node) {
            waits_for[follower] -= 1;
            if waits_for[follower] == 0 {
                ready.push_back(follower);
            }
        }
    }
    (walked == named.len()).then_some(places)
}
