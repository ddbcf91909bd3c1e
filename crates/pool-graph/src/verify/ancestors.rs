//! Which nodes are complete before which: reachability along the edges that order memory.

use super::{GraphOrder, LayoutViolation};

/// For every node, a bit for each node that comes before it.
#[derive(Debug)]
pub(super) struct Ancestors {
    bits: Vec<u64>,
    /// Words of each node.
    words: usize,
}

impl Ancestors {
    pub(super) fn of(graph: &GraphOrder) -> Result<Self, LayoutViolation> {
        let nodes = graph.nodes;
        let mut followers = vec![Vec::new(); nodes];
        // A circle of edges of any sort is no graph, so all count for the order in which to walk.
        let mut waits_for = vec![0_usize; nodes];
        for edge in &graph.edges {
            if let Some(node) = [edge.from, edge.to].into_iter().find(|&node| node >= nodes) {
                return Err(LayoutViolation::UnknownNode { node, nodes });
            }
            followers[edge.from].push((edge.to, edge.full));
            waits_for[edge.to] += 1;
        }
        let words = nodes.div_ceil(64);
        let mut ancestors = Self { bits: vec![0; nodes * words], words };
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

    /// Whether a node is complete before another one begins.
    pub(super) fn is_before(&self, earlier: usize, later: usize) -> bool {
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
