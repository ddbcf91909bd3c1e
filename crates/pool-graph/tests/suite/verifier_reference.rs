//! The verifier compared with a naive one on random graphs and layouts: both return the same
//! verdict, with the same numbers. The naive one keeps a matrix of all nodes by all nodes, and
//! checks every two regions and every access with every region. `POOL_TEST_CASES` sets their
//! number, `POOL_TEST_SEED` the seed.

use std::cell::RefCell;
use std::collections::BTreeMap;

use pool_conformance::programs::{for_all, test_cases};
use pool_graph::{
    GraphOrder, LayoutViolation, NodeAccess, OrderEdge, RegionLayout, Verification, verify_layout,
};
use proptest::prelude::*;

/// For every node, `true` for each other node that is complete before it begins.
struct Matrix(Vec<Vec<bool>>);

impl Matrix {
    /// Propagates the known order along each edge until nothing changes.
    fn of(graph: &GraphOrder) -> Self {
        let mut before = vec![vec![false; graph.nodes]; graph.nodes];
        let mut changes = true;
        while changes {
            changes = false;
            for edge in graph.edges.iter().filter(|edge| edge.full) {
                let mut row = before[edge.from].clone();
                row[edge.from] = true;
                for (node, known) in before[edge.to].iter_mut().enumerate() {
                    changes |= row[node] && !*known;
                    *known |= row[node];
                }
            }
        }
        Self(before)
    }

    fn is_before(&self, earlier: usize, later: usize) -> bool {
        self.0[later][earlier]
    }

    fn has_begun(&self, region: &RegionLayout, node: usize) -> bool {
        region.after.iter().all(|&begin| self.is_before(begin, node))
    }

    fn has_not_ended(&self, region: &RegionLayout, node: usize) -> bool {
        region.until.iter().any(|&last| last == node || self.is_before(node, last))
    }

    /// Returns `true` if the edges confirm the layout of a region.
    fn is_shown(&self, region: &RegionLayout) -> bool {
        region.uses.iter().all(|&node| self.has_begun(region, node))
            && region.uses.iter().all(|&node| self.has_not_ended(region, node))
            && region.after.iter().all(|&node| self.has_not_ended(region, node))
    }

    /// Returns the possible last uses of a region.
    fn ends(&self, region: &RegionLayout) -> Vec<usize> {
        let may_be = |&node: &usize| !self.is_shown(region) || self.has_begun(region, node);
        region.until.iter().copied().filter(may_be).collect()
    }

    fn are_ordered(&self, earlier: &RegionLayout, later: &RegionLayout) -> bool {
        let begins_later = |last: usize| {
            later.after.iter().any(|&begin| last == begin || self.is_before(last, begin))
        };
        self.is_shown(earlier)
            && self.is_shown(later)
            && self.ends(earlier).into_iter().all(begins_later)
    }
}

fn is_circular(graph: &GraphOrder) -> bool {
    let all = graph.edges.iter().map(|edge| OrderEdge { full: true, ..*edge }).collect();
    let matrix = Matrix::of(&GraphOrder { nodes: graph.nodes, edges: all });
    (0..graph.nodes).any(|node| matrix.is_before(node, node))
}

/// Returns the regions of the layout that share bytes, in the order in which a sweep over the
/// addresses meets them: the entering one, then the earlier one.
fn sharing(matrix: &Matrix, layout: &[RegionLayout]) -> Vec<(usize, usize)> {
    let mut by_offset: Vec<usize> = (0..layout.len()).collect();
    by_offset.sort_by_key(|&one| layout[one].offset);
    let end = |one: usize| layout[one].offset + layout[one].bytes;
    let shares = |one: usize, other: usize| {
        let start = layout[one].offset.max(layout[other].offset);
        let used = |region: usize| !matrix.ends(&layout[region]).is_empty();
        start < end(one).min(end(other)) && used(one) && used(other)
    };
    let pairs = by_offset
        .iter()
        .enumerate()
        .flat_map(|(place, &new)| by_offset[..place].iter().map(move |&old| (new, old)));
    pairs.filter(|&(new, old)| shares(new, old)).collect()
}

fn naive(
    graph: &GraphOrder,
    layout: &[RegionLayout],
    accesses: &[NodeAccess],
) -> Result<Verification, LayoutViolation> {
    let nodes = graph.nodes;
    let unknown = |node| Err(LayoutViolation::UnknownNode { node, nodes });
    let mut joined = graph.edges.iter().flat_map(|edge| [edge.from, edge.to]);
    if let Some(node) = joined.find(|&node| node >= nodes) {
        return unknown(node);
    }
    if is_circular(graph) {
        return Err(LayoutViolation::Circle);
    }
    let of_layout = layout.iter().flat_map(|one| [&one.uses, &one.after, &one.until]).flatten();
    let mut named = of_layout.copied().chain(accesses.iter().map(|access| access.node));
    if let Some(node) = named.find(|&node| node >= nodes) {
        return unknown(node);
    }
    for (region, RegionLayout { offset, bytes, .. }) in layout.iter().enumerate() {
        if offset.checked_add(*bytes).is_none() {
            return Err(LayoutViolation::Overflow { region, offset: *offset, bytes: *bytes });
        }
    }
    let matrix = Matrix::of(graph);
    let sharing = sharing(&matrix, layout);
    for &(new, old) in &sharing {
        let (one, other) = (&layout[new], &layout[old]);
        if !matrix.are_ordered(one, other) && !matrix.are_ordered(other, one) {
            let (first, second) = (new.min(old), new.max(old));
            return Err(LayoutViolation::Unordered { first, second });
        }
    }
    for &NodeAccess { node, offset, bytes } in accesses {
        let is_of = |region: &RegionLayout| {
            let inside = region.offset <= offset
                && offset.saturating_add(bytes) <= region.offset + region.bytes;
            inside && matrix.has_begun(region, node) && matrix.has_not_ended(region, node)
        };
        if !layout.iter().any(is_of) {
            return Err(LayoutViolation::StrayAccess { node, offset, bytes });
        }
    }
    Ok(Verification { sharing: sharing.len(), accesses: accesses.len() })
}

/// A graph, regions and accesses. Most match each other.
#[derive(Clone, Debug)]
struct Sample {
    graph: GraphOrder,
    layout: Vec<RegionLayout>,
    accesses: Vec<NodeAccess>,
}

/// The description of a region: an offset and bytes in units, its beginning and the length of its
/// use, and the nodes to change.
type Wish = (u64, u64, usize, usize, Vec<(u8, usize)>);

/// Returns a graph of the nodes in `names`, each after the previous one with a few exceptions, and
/// other edges.
fn graph(names: &[usize], missing: &[usize], extra: &[(usize, usize, u8)]) -> GraphOrder {
    let nodes = names.len();
    let follows = (1..nodes).filter(|to| !missing.contains(to)).map(|to| (to - 1, to, true));
    // One in eight is not an edge of full completion; one in 250 makes a circle, or has an unknown
    // node.
    let others = extra.iter().map(|&(one, other, kind)| match kind {
        0 => (one.max(other), one.min(other), true),
        kind => (one.min(other), one.max(other), kind % 8 > 0),
    });
    let edges = follows.chain(others).filter(|(from, to, _)| from != to);
    let edge = |(from, to, full): (usize, usize, bool)| OrderEdge {
        from: names[from],
        to: names[to],
        full,
    };
    GraphOrder { nodes, edges: edges.map(edge).collect() }
}

/// Returns the region of a description on a line of nodes: it is used from `begin` on, and comes
/// after the node before that.
fn region(names: &[usize], (offset, bytes, begin, length, changes): &Wish) -> RegionLayout {
    let nodes = names.len();
    let last = (begin + length).min(nodes - 1);
    let mut region = RegionLayout {
        offset: offset * 4,
        bytes: bytes * 4,
        uses: (*begin..=last).map(|node| names[node]).collect(),
        after: begin.checked_sub(1).map(|node| names[node]).into_iter().collect(),
        until: vec![names[last]],
    };
    for &(what, node) in changes {
        match what {
            0 => region.uses.push(names[node]),
            1 => region.after.push(names[node]),
            2 => region.until.push(names[node]),
            3 => region.after.clear(),
            4 => region.uses.clear(),
            5 => region.until.clear(),
            6 => region.uses.push(nodes + node),
            7 => region.offset = u64::MAX - node as u64 * 4,
            _ => {}
        }
    }
    region
}

fn wish(nodes: usize) -> impl Strategy<Value = Wish> {
    // Mostly one of the first five, and mostly none at all.
    let what = prop_oneof![100 => 0..6_u8, 1 => Just(6_u8), 2 => Just(7_u8)];
    let changes = prop_oneof![
        4 => Just(Vec::new()),
        1 => prop::collection::vec((what, 0..nodes), 1..3),
    ];
    let bytes = prop_oneof![20 => 1..6_u64, 1 => Just(0_u64)];
    (0..24_u64, bytes, 0..nodes, 0..4_usize, changes)
}

fn samples() -> impl Strategy<Value = Sample> {
    (2_usize..20)
        .prop_flat_map(|nodes| {
            let names = Just((0..nodes).collect::<Vec<usize>>()).prop_shuffle();
            let missing = prop_oneof![
                2 => Just(Vec::new()),
                1 => prop::collection::vec(1..nodes, 0..nodes / 2 + 1),
            ];
            let kinds = prop_oneof![250 => 1..64_u8, 1 => Just(0_u8)];
            let extra = prop::collection::vec((0..nodes, 0..nodes, kinds), 0..nodes);
            let wishes = prop::collection::vec(wish(nodes), 0..10);
            // A region's own bytes at one of its own nodes, and sometimes any bytes.
            let owned = (any::<prop::sample::Index>(), 0..4_usize, 0..5_u64, 0..5_u64);
            let any_one = (0..nodes, 0..100_u64, 0..12_u64);
            let owned = prop::collection::vec(owned, 0..6);
            let any_ones =
                prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(any_one, 1..3)];
            (names, missing, extra, wishes, owned, any_ones)
        })
        .prop_map(|(names, missing, extra, wishes, owned, any_ones)| {
            let graph = graph(&names, &missing, &extra);
            let layout: Vec<RegionLayout> =
                wishes.iter().map(|wish| region(&names, wish)).collect();
            let of_region =
                |(region, user, skip, bytes): (prop::sample::Index, usize, u64, u64)| {
                    let one: &RegionLayout = layout.get(region.index(layout.len().max(1)))?;
                    let node = *one.uses.get(user.min(one.uses.len().saturating_sub(1)))?;
                    let skip = skip.min(one.bytes);
                    let bytes = bytes.min(one.bytes - skip);
                    Some(NodeAccess { node, offset: one.offset.checked_add(skip)?, bytes })
                };
            let mut accesses: Vec<NodeAccess> = owned.into_iter().filter_map(of_region).collect();
            let any_one = |(node, offset, bytes)| NodeAccess { node: names[node], offset, bytes };
            accesses.extend(any_ones.into_iter().map(any_one));
            Sample { graph, layout, accesses }
        })
}

/// Returns the kind of a verdict; those with at least one check count separately.
fn kind(verdict: &Result<Verification, LayoutViolation>) -> &'static str {
    match verdict {
        Ok(Verification { sharing: 0, .. }) => "accepted, nothing shared",
        Ok(Verification { accesses: 0, .. }) => "accepted, shared",
        Ok(_) => "accepted, shared and accessed",
        Err(LayoutViolation::Unordered { .. }) => "unordered",
        Err(LayoutViolation::StrayAccess { .. }) => "stray access",
        Err(LayoutViolation::UnknownNode { .. }) => "unknown node",
        Err(LayoutViolation::Overflow { .. }) => "overflow",
        Err(LayoutViolation::Circle) => "circle",
        Err(_) => "another one",
    }
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: arithmetic without unsafe code")]
fn the_verifier_says_what_the_naive_one_says() {
    let kinds = RefCell::new(BTreeMap::new());
    let cases = test_cases();
    for_all(cases, &samples(), |Sample { graph, layout, accesses }| {
        let expected = naive(&graph, &layout, &accesses);
        assert_eq!(verify_layout(&graph, &layout, &accesses), expected);
        *kinds.borrow_mut().entry(kind(&expected)).or_insert(0_u32) += 1;
    });
    let kinds = kinds.into_inner();
    println!("{kinds:?}");
    let met = |kind: &str| kinds.get(kind).copied().unwrap_or(0);
    // Each kind of verdict occurred, in at least one case of 500.
    for kind in [
        "accepted, nothing shared",
        "accepted, shared",
        "accepted, shared and accessed",
        "unordered",
        "stray access",
        "unknown node",
        "overflow",
        "circle",
    ] {
        assert!(cases < 1_000 || met(kind) * 500 >= cases, "{kind}: {kinds:?}");
    }
}

/// Returns graphs that take several passes, of three streams with random edges between them: each
/// region is used on one of them, and overlaps others of the same stream.
fn larger_samples() -> impl Strategy<Value = Sample> {
    let crossing = prop::collection::vec((0..1_500_usize, 1..30_usize, 1..64_u8), 0..400);
    let region = (0..1_480_usize, 0..6_usize, 1..4_u64, 0..600_u32);
    let regions = prop::collection::vec(region, 1..700);
    let missing = prop_oneof![2 => Just(None), 1 => (3..1_500_usize).prop_map(Some)];
    (crossing, regions, missing).prop_map(|(crossing, regions, missing)| {
        let nodes = 1_500;
        let follows = (3..nodes).filter(|&to| Some(to) != missing);
        let follows = follows.map(|to| OrderEdge { from: to - 3, to, full: true });
        let crossing = crossing.into_iter().map(|(from, far, kind)| OrderEdge {
            from,
            to: (from + far).min(nodes),
            full: kind % 8 > 0,
        });
        let mut edges: Vec<OrderEdge> =
            follows.chain(crossing.filter(|edge| edge.to < nodes)).collect();
        edges.sort_by_key(|edge| edge.to);
        // Consecutive regions of one place; sometimes one begins too early.
        let mut free_from = BTreeMap::new();
        let mut layout = Vec::new();
        let mut regions = regions;
        regions.sort_unstable();
        for (begin, length, bytes, place) in regions {
            let (stream, last) = (begin % 3, (begin + length * 3).min(nodes - 3 + begin % 3));
            let offset = (stream as u64 * 4 + u64::from(place % 4)) * 12;
            let is_late = free_from.insert(offset, last).is_none_or(|free| free < begin);
            if !is_late && place > 0 {
                free_from.insert(offset, last.max(begin));
                continue;
            }
            layout.push(RegionLayout {
                offset,
                bytes: bytes * 4,
                uses: vec![begin, last],
                after: begin.checked_sub(3).into_iter().collect(),
                until: vec![last],
            });
        }
        let accesses = layout.iter().map(|one| NodeAccess {
            node: one.uses[1],
            offset: one.offset,
            bytes: one.bytes,
        });
        let accesses = accesses.collect();
        Sample { graph: GraphOrder { nodes, edges }, layout, accesses }
    })
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: arithmetic without unsafe code")]
fn the_same_of_graphs_that_take_several_passes() {
    let kinds = RefCell::new(BTreeMap::new());
    for_all(test_cases().div_ceil(50), &larger_samples(), |Sample { graph, layout, accesses }| {
        let expected = naive(&graph, &layout, &accesses);
        assert_eq!(verify_layout(&graph, &layout, &accesses), expected);
        *kinds.borrow_mut().entry(kind(&expected)).or_insert(0_u32) += 1;
    });
    let kinds = kinds.into_inner();
    println!("{kinds:?}");
    for kind in ["accepted, shared and accessed", "unordered"] {
        assert!(test_cases() < 1_000 || kinds.contains_key(kind), "{kind}: {kinds:?}");
    }
}
