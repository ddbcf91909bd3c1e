//! Which nodes are complete before which: reachability along the edges that order memory.

use super::{GraphOrder, LayoutViolation};

/// For every node that is named somewhere, a bit for each of them that comes before it.
#[derive(Debug)]
pub(super) struct Ancestors {
    /// The nodes, in order.
    named: Vec<usize>,
    bits: Vec<u64>,
    /// Words of each node.
    words: usize,
}

impl Ancestors {
    /// Of the nodes that edges join, and of these.
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
        let nodes = named.len();
        let place = |node| named.partition_point(|&other| other < node);
        let mut followers = vec![Vec::new(); nodes];
        // A circle of edges of any sort is no graph, so all count for the order in which to walk.
        let mut waits_for = vec![0_usize; nodes];
        for edge in &graph.edges {
            let (from, to) = (place(edge.from), place(edge.to));
            followers[from].push((to, edge.full));
            waits_for[to] += 1;
        }
        let words = nodes.div_ceil(64);
        let mut ancestors = Self { bits: vec![0; nodes * words], words, named };
        let mut ready: Vec<usize> = (0..nodes).filter(|&node| waits_for[node] == 0).collect();
        let mut walked = 0;
        while let Some(node) = ready.pop() {
            walked += 1;
            for &(follower, full) in &followers[node] {
                if full {
                    ancestors.inherit(follower, node);
                }
                waits_for[follower] -= 1;
                if waits_for[follower] == 0 {
                    ready.push(follower);
                }
            }
        }
        if walked == nodes { Ok(ancestors) } else { Err(LayoutViolation::Circle) }
    }

    /// Whether a node is complete before another one begins; both are named.
    pub(super) fn is_before(&self, earlier: usize, later: usize) -> bool {
        let place = |node| self.named.partition_point(|&other| other < node);
        let (earlier, later) = (place(earlier), place(later));
        self.bits[later * self.words + earlier / 64] >> (earlier % 64) & 1 == 1
    }

    /// What comes before `parent` comes before `child`, too, and so does it itself.
    fn inherit(&mut self, child: usize, parent: usize) {
        for word in 0..self.words {
            self.bits[child * self.words + word] |= self.bits[parent * self.words + word];
        }
        self.bits[child * self.words + parent / 64] |= 1 << (parent % 64);
    }
}
