//! Large graphs with correct layouts, each with an edge that its layout depends on.

use pool_graph::{GraphOrder, NodeAccess, OrderEdge, RegionLayout};

/// A graph, its layout, and the accesses of its nodes.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) graph: GraphOrder,
    pub(crate) layout: Vec<RegionLayout>,
    pub(crate) accesses: Vec<NodeAccess>,
    /// An edge without which two regions that share bytes are not ordered, or an access is stray.
    pub(crate) needed: usize,
}

/// Returns every shape, with approximately `nodes` nodes.
pub(crate) fn all(nodes: usize) -> Vec<fn(usize) -> Shape> {
    assert!(nodes >= 1_000, "shapes need room");
    vec![line, streams, low_width, fans, one_region_for_all, long_lived]
}

const fn full(from: usize, to: usize) -> OrderEdge {
    OrderEdge { from, to, full: true }
}

fn access(node: usize, region: &RegionLayout) -> NodeAccess {
    NodeAccess { node, offset: region.offset, bytes: region.bytes }
}

/// Returns the accesses of the regions' uses.
fn accesses(layout: &[RegionLayout]) -> Vec<NodeAccess> {
    layout.iter().flat_map(|one| one.uses.iter().map(|&node| access(node, one))).collect()
}

/// One stream, and all temporaries at the same bytes: every two of them share.
fn line(nodes: usize) -> Shape {
    let edges = (1..nodes).map(|to| full(to - 1, to)).collect();
    let region = |node: usize| RegionLayout {
        offset: 0,
        bytes: 256 + node as u64 % 7 * 256,
        uses: vec![node],
        after: node.checked_sub(1).into_iter().collect(),
        until: vec![node],
    };
    let layout: Vec<RegionLayout> = (0..nodes).map(region).collect();
    let accesses = accesses(&layout);
    let graph = GraphOrder { nodes, edges };
    Shape { name: "a line, all at one place", graph, layout, accesses, needed: nodes / 2 }
}

/// Eight streams, each ordered after its neighbour every ten nodes. Each has its own bytes, which
/// every second temporary of it reuses; one of each ten is at a place of the neighbour.
fn streams(nodes: usize) -> Shape {
    let (width, rounds) = (8, nodes / 8);
    let node = |stream: usize, round: usize| round * width + stream;
    let mut edges = Vec::new();
    let mut layout = Vec::new();
    for round in 0..rounds {
        for stream in 0..width {
            let this = node(stream, round);
            let before = round.checked_sub(1).map(|round| node(stream, round));
            edges.extend(before.map(|before| full(before, this)));
            let neighbour = (stream + width - 1) % width;
            let joins = round % 10 == 9;
            let joined = joins.then(|| node(neighbour, round - 1));
            edges.extend(joined.map(|joined| full(joined, this)));
            let until = node(stream, (round + 1).min(rounds - 1));
            let area = if joins && round / 10 % width == stream { neighbour } else { stream };
            let is_guest = area != stream;
            // The neighbour's area has a third place, for guests.
            let place = if is_guest { 2 } else { round % 2 };
            layout.push(RegionLayout {
                offset: (area * 3 + place) as u64 * 256,
                bytes: 256,
                uses: if is_guest { vec![this] } else { vec![this, until] },
                after: before.into_iter().chain(joined).collect(),
                until: vec![if is_guest { this } else { until }],
            });
        }
    }
    let accesses = accesses(&layout);
    let graph = GraphOrder { nodes: rounds * width, edges };
    Shape { name: "8 streams with cross edges", graph, layout, accesses, needed: 8 * 16 }
}

/// A generator of numbers: the same at every run.
struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        ((u128::from(self.0) * count as u128) >> 64) as usize
    }
}

/// Twelve chains of unequal length with random edges between them, and nodes numbered at random.
/// Each chain has four places, whose temporaries live for up to twelve nodes of it.
fn low_width(nodes: usize) -> Shape {
    let mut random = Random(7);
    let mut names: Vec<usize> = (0..nodes).collect();
    (1..nodes).for_each(|node| names.swap(node, random.below(node + 1)));
    let mut chains: Vec<Vec<usize>> = vec![Vec::new(); 12];
    let mut edges = Vec::new();
    for &name in &names {
        let chain = random.below(12).min(random.below(12));
        edges.extend(chains[chain].last().map(|&before| full(before, name)));
        let other = random.below(12);
        if other != chain && random.below(4) == 0 {
            edges.extend(chains[other].last().map(|&before| full(before, name)));
        }
        chains[chain].push(name);
    }
    let mut layout = Vec::new();
    for (number, chain) in chains.iter().enumerate() {
        for place in 0..4 {
            let mut begin = place + 1;
            while begin < chain.len() {
                let last = (begin + random.below(12)).min(chain.len() - 1);
                layout.push(RegionLayout {
                    offset: (number * 4 + place) as u64 * 4096,
                    bytes: 256 * (1 + random.below(16) as u64),
                    uses: vec![chain[begin], chain[begin.midpoint(last)], chain[last]],
                    after: vec![chain[begin - 1]],
                    until: vec![chain[last]],
                });
                begin = last + 1;
            }
        }
    }
    let accesses = accesses(&layout);
    // The first edge inside the longest chain's fourth hundred.
    let (from, to) = (chains[0][400], chains[0][401]);
    let needed = edges.iter().position(|edge| (edge.from, edge.to) == (from, to));
    let graph = GraphOrder { nodes, edges };
    let needed = needed.expect("it is an edge of a chain");
    Shape { name: "random, of low width", graph, layout, accesses, needed }
}

/// A node, a hundred parallel ones, a node, and so on. The branches of all fans have the same
/// bytes, and the nodes between them one region that covers all.
fn fans(nodes: usize) -> Shape {
    let width = nodes / 100;
    let rounds = nodes / (width + 1);
    let hub = |round: usize| round * (width + 1);
    let mut edges = Vec::new();
    let mut layout = Vec::new();
    for round in 0..rounds {
        let after: Vec<usize> = match round.checked_sub(1) {
            Some(before) => (hub(before) + 1..hub(round)).collect(),
            None => Vec::new(),
        };
        edges.extend(after.iter().map(|&before| full(before, hub(round))));
        let whole = width as u64 * 256;
        let node = hub(round);
        layout.push(RegionLayout {
            offset: 0,
            bytes: whole,
            uses: vec![node],
            after: after.clone(),
            until: vec![node],
        });
        for lane in 0..width {
            let branch = hub(round) + 1 + lane;
            edges.push(full(node, branch));
            layout.push(RegionLayout {
                offset: lane as u64 * 256,
                bytes: 256,
                uses: vec![branch],
                after: vec![node],
                until: vec![branch],
            });
        }
    }
    let accesses = accesses(&layout);
    let graph = GraphOrder { nodes: rounds * (width + 1), edges };
    Shape { name: "wide fans out and in", graph, layout, accesses, needed: width * 3 + 5 }
}

/// A node, all others in parallel, and a node: all of them use one region, which others overlap
/// before and after.
fn one_region_for_all(nodes: usize) -> Shape {
    let (first, last) = (0, nodes - 1);
    let fork = (1..last).map(|node| full(first, node));
    let edges: Vec<OrderEdge> = fork.chain((1..last).map(|node| full(node, last))).collect();
    let shared = RegionLayout {
        offset: 0,
        bytes: nodes as u64 * 64,
        uses: (1..last).collect(),
        after: vec![first],
        until: (1..last).collect(),
    };
    let mut accesses: Vec<NodeAccess> =
        (1..last).map(|node| NodeAccess { node, offset: node as u64 * 64, bytes: 64 }).collect();
    let at = |node: usize, after: Vec<usize>| RegionLayout {
        offset: 0,
        bytes: nodes as u64 * 64,
        uses: vec![node],
        after,
        until: vec![node],
    };
    let layout = vec![at(first, vec![]), shared, at(last, (1..last).collect())];
    accesses.extend([access(first, &layout[0]), access(last, &layout[2])]);
    let graph = GraphOrder { nodes, edges };
    Shape { name: "one region for all branches", graph, layout, accesses, needed: nodes / 2 }
}

/// Forty streams with four edges into each node, from up to five rounds before. Every temporary is
/// used from its node to the one half a graph later: nothing is close together. Each node of the
/// second half begins where the one half a graph earlier ended.
fn long_lived(nodes: usize) -> Shape {
    let (width, rounds) = (40, nodes / 40);
    let node = |stream: usize, round: usize| round * width + stream;
    let mut random = Random(11);
    let mut edges = Vec::new();
    let mut layout = Vec::new();
    for round in 0..rounds {
        for stream in 0..width {
            let this = node(stream, round);
            if round > 0 {
                edges.push(full(node(stream, round - 1), this));
                for _ in 0..3 {
                    let earlier = round - 1 - random.below(round.min(5));
                    edges.push(full(node(random.below(width), earlier), this));
                }
            }
            let until = node(stream, (round + rounds / 2).min(rounds - 1));
            let half = round % (rounds / 2);
            // Those of both halves would meet at the node where the first ends.
            let after = round.checked_sub(1).map(|before| node(stream, before));
            let until = if round < rounds / 2 { until - width } else { until };
            layout.push(RegionLayout {
                offset: node(stream, half) as u64 * 256,
                bytes: 256,
                uses: vec![this, until],
                after: after.into_iter().collect(),
                until: vec![until],
            });
        }
    }
    // With an odd number of rounds, the remainder would overlap the first ones of the second half.
    layout.truncate(rounds / 2 * 2 * width);
    let accesses = accesses(&layout);
    let halves = |stream: usize| (node(stream, rounds / 2 - 1), node(stream, rounds / 2));
    let leads = |ends: (usize, usize)| {
        let same = |edge: &&OrderEdge| (edge.from, edge.to) == ends;
        (edges.iter().filter(same).count() == 1).then(|| edges.iter().position(|edge| same(&edge)))
    };
    let needed = (0..width).find_map(|stream| leads(halves(stream)).flatten());
    let needed = needed.expect("chance did not double all edges between the halves");
    let graph = GraphOrder { nodes: rounds * width, edges };
    Shape { name: "long-lived, forty streams", graph, layout, accesses, needed }
}
