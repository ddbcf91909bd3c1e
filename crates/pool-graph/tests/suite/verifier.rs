//! The verifier compared with a plain model on random graphs and layouts, and on broken ones, which
//! it must refuse.

use pool_graph::{GraphOrder, LayoutViolation, NodeAccess, OrderEdge, RegionLayout, verify_layout};
use pool_plan::{Edge, GraphBuffer, HappensBeforeProblem, Options};
use proptest::prelude::*;

/// Returns a chain of `nodes` nodes, all edges full.
fn chain(nodes: usize) -> GraphOrder {
    let edges = (1..nodes).map(|to| OrderEdge { from: to - 1, to, full: true }).collect();
    GraphOrder { nodes, edges }
}

fn region(offset: u64, after: &[usize], until: &[usize]) -> RegionLayout {
    RegionLayout { offset, bytes: 256, uses: vec![], after: after.to_vec(), until: until.to_vec() }
}

#[test]
fn a_circle_and_unknown_nodes_are_refused() {
    let mut graph = chain(3);
    assert!(verify_layout(&graph, &[], &[]).is_ok());
    let unknown = verify_layout(&graph, &[region(0, &[], &[3])], &[]);
    assert_eq!(unknown, Err(LayoutViolation::UnknownNode { node: 3, nodes: 3 }));
    let endless = RegionLayout { bytes: u64::MAX, ..region(256, &[], &[0]) };
    assert!(matches!(
        verify_layout(&graph, &[endless], &[]),
        Err(LayoutViolation::Overflow { region: 0, .. })
    ));
    graph.edges.push(OrderEdge { from: 2, to: 0, full: false });
    assert_eq!(verify_layout(&graph, &[], &[]), Err(LayoutViolation::Circle));
    graph.edges[0].to = 9;
    assert_eq!(
        verify_layout(&graph, &[], &[]),
        Err(LayoutViolation::UnknownNode { node: 9, nodes: 3 })
    );
}

#[test]
fn a_region_that_is_used_until_the_other_begins_is_not_in_its_way() {
    let graph = chain(3);
    // The second comes after the last user of the first.
    let layout = [region(0, &[], &[1]), region(0, &[1], &[2])];
    assert_eq!(verify_layout(&graph, &layout, &[]).unwrap().sharing, 1);
    // Node 1 uses both.
    let layout = [region(0, &[], &[1]), region(0, &[0], &[2])];
    let refused = LayoutViolation::Unordered { first: 0, second: 1 };
    assert_eq!(verify_layout(&graph, &layout, &[]), Err(refused));
}

/// A kernel's node has no readable address: its use of the region is declared, and the edges must
/// order it.
#[test]
fn a_use_that_is_not_where_it_should_be_is_found() {
    let mut graph = chain(3);
    let layout = |uses: &[usize]| {
        [region(0, &[], &[0]), RegionLayout { uses: uses.to_vec(), ..region(0, &[0], &[2]) }]
    };
    assert!(verify_layout(&graph, &layout(&[1, 2]), &[]).is_ok());
    let refused = LayoutViolation::Unordered { first: 0, second: 1 };
    assert_eq!(verify_layout(&graph, &layout(&[0]), &[]), Err(refused.clone()));
    // After a programmatic edge, node 1 may begin while node 0 runs.
    graph.edges[0].full = false;
    assert_eq!(verify_layout(&graph, &layout(&[1, 2]), &[]), Err(refused.clone()));
    assert_eq!(verify_layout(&graph, &layout(&[]), &[]), Err(refused.clone()));
    // A use that continues after the region has ended.
    let graph = chain(3);
    let late = [RegionLayout { uses: vec![2], ..region(0, &[], &[0]) }, region(0, &[1], &[2])];
    assert_eq!(verify_layout(&graph, &late, &[]), Err(refused));
    let unknown = [RegionLayout { uses: vec![3], ..region(0, &[], &[0]) }];
    assert_eq!(
        verify_layout(&graph, &unknown, &[]),
        Err(LayoutViolation::UnknownNode { node: 3, nodes: 3 })
    );
}

/// The second region claims to come after the last use of the first one, and its node does not.
#[test]
fn a_programmatic_edge_to_the_first_use_orders_nothing() {
    let mut graph = chain(2);
    let layout = [region(0, &[], &[0]), region(0, &[0], &[1])];
    assert_eq!(verify_layout(&graph, &layout, &[]).unwrap().sharing, 1);
    graph.edges[0].full = false;
    let refused = LayoutViolation::Unordered { first: 0, second: 1 };
    assert_eq!(verify_layout(&graph, &layout, &[]), Err(refused));
    // Without shared bytes, such an edge is the work's own responsibility.
    let apart = [region(0, &[], &[0]), region(256, &[0], &[1])];
    assert!(verify_layout(&graph, &apart, &[]).is_ok());
}

#[test]
fn a_graph_of_more_nodes_than_memory_is_looked_at_where_it_is_named() {
    let nodes = usize::MAX;
    let edge = OrderEdge { from: nodes - 1, to: 0, full: true };
    let graph = GraphOrder { nodes, edges: vec![edge] };
    let layout = [region(0, &[], &[nodes - 1]), region(0, &[nodes - 1], &[0])];
    assert_eq!(verify_layout(&graph, &layout, &[]).unwrap().sharing, 1);
    let unknown = verify_layout(&graph, &[region(0, &[], &[nodes])], &[]);
    assert_eq!(unknown, Err(LayoutViolation::UnknownNode { node: nodes, nodes }));
}

#[test]
fn an_access_belongs_to_the_region_that_lives_then() {
    let graph = chain(4);
    let layout = [region(0, &[], &[1]), region(0, &[1], &[3])];
    let access = |node, offset| NodeAccess { node, offset, bytes: 128 };
    let good = [access(0, 0), access(1, 128), access(2, 0), access(3, 128)];
    assert_eq!(verify_layout(&graph, &layout, &good).unwrap().accesses, 4);
    for stray in [access(1, 129), access(0, 256)] {
        let refused = verify_layout(&graph, &layout, &[stray]);
        assert!(matches!(refused, Err(LayoutViolation::StrayAccess { .. })), "{stray:?}");
    }
    // Between the two, the bytes belong to no region.
    let layout = [region(0, &[], &[0]), region(0, &[1], &[3])];
    let refused = verify_layout(&graph, &layout, &[access(1, 0)]);
    assert_eq!(refused, Err(LayoutViolation::StrayAccess { node: 1, offset: 0, bytes: 128 }));
}

/// A graph, and a buffer for each of some of its nodes with the nodes that use it.
#[derive(Clone, Debug)]
struct Sample {
    graph: GraphOrder,
    /// Size, the node that allocates, and the last users: descendants of it, or itself.
    buffers: Vec<(u64, usize, Vec<usize>)>,
}

fn reaches(graph: &GraphOrder, from: usize, to: usize) -> bool {
    let mut open = vec![from];
    while let Some(node) = open.pop() {
        for edge in graph.edges.iter().filter(|edge| edge.full && edge.from == node) {
            if edge.to == to {
                return true;
            }
            open.push(edge.to);
        }
    }
    false
}

prop_compose! {
    fn samples()(nodes in 4_usize..16)(
        edges in prop::collection::vec((0..nodes, 0..nodes, 0..8_u8), 0..nodes * 2),
        wanted in prop::collection::vec((1_u64..5, 0..nodes, prop::collection::vec(0..nodes, 0..3)), 2..12),
        nodes in Just(nodes),
    ) -> Sample {
        let mut graph = GraphOrder { nodes, edges: Vec::new() };
        for (one, other, kind) in edges {
            let (from, to) = (one.min(other), one.max(other));
            if from != to && !graph.edges.iter().any(|edge| (edge.from, edge.to) == (from, to)) {
                graph.edges.push(OrderEdge { from, to, full: kind > 0 });
            }
        }
        let buffers = wanted.into_iter().map(|(size, begin, users)| {
            let mut users: Vec<usize> =
                users.into_iter().filter(|&user| reaches(&graph, begin, user)).collect();
            users.push(begin);
            (size * 256, begin, users)
        }).collect();
        Sample { graph, buffers }
    }
}

/// Returns the plan for a sample, as a layout for the verifier. The planner's buffers are also used
/// by the node that allocates them, so all earlier uses must be over before it: its direct
/// predecessors represent that.
fn planned(sample: &Sample) -> Vec<RegionLayout> {
    let edges = sample.graph.edges.iter().map(|edge| Edge {
        from: edge.from,
        to: edge.to,
        kind: if edge.full { pool_plan::EdgeKind::Full } else { pool_plan::EdgeKind::Programmatic },
    });
    let buffers = sample.buffers.iter().enumerate().map(|(index, (size, begin, users))| {
        let mut buffer = GraphBuffer::new(index.to_string(), *size, *begin, users.clone());
        buffer.alignment = 256;
        buffer
    });
    let problem =
        HappensBeforeProblem::new(sample.graph.nodes, edges.collect(), buffers.collect()).unwrap();
    let plan = problem.solve(&Options::default()).unwrap();
    let laid_out = |((size, begin, users), &offset): (&(u64, usize, Vec<usize>), &u64)| {
        let full = |edge: &&OrderEdge| edge.full && edge.to == *begin;
        let after = sample.graph.edges.iter().filter(full).map(|edge| edge.from).collect();
        RegionLayout { offset, bytes: *size, uses: users.clone(), after, until: users.clone() }
    };
    sample.buffers.iter().zip(&plan.offsets).map(laid_out).collect()
}

/// Returns the expected verdict on sharing, computed plainly.
fn is_right(graph: &GraphOrder, layout: &[RegionLayout]) -> bool {
    let is_or_reaches = |from, to| from == to || reaches(graph, from, to);
    let has_begun =
        |one: &RegionLayout, node| one.after.iter().all(|&begin| reaches(graph, begin, node));
    let has_not_ended =
        |one: &RegionLayout, node| one.until.iter().any(|&last| is_or_reaches(node, last));
    let is_shown = |one: &RegionLayout| {
        one.uses.iter().all(|&node| has_begun(one, node) && has_not_ended(one, node))
            && one.after.iter().all(|&node| has_not_ended(one, node))
    };
    let before = |one: &RegionLayout, other: &RegionLayout| {
        let mut ends = one.until.iter().filter(|&&last| has_begun(one, last));
        is_shown(one)
            && is_shown(other)
            && ends.all(|&last| other.after.iter().any(|&begin| is_or_reaches(last, begin)))
    };
    layout.iter().enumerate().all(|(index, one)| {
        layout[index + 1..].iter().all(|other| {
            let apart =
                one.offset + one.bytes <= other.offset || other.offset + other.bytes <= one.offset;
            apart || before(one, other) || before(other, one)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The verifier accepts the planner's layout. After a mutation it agrees with the plain
    /// computation: with any one edge removed, any one edge programmatic, any one region moved.
    #[test]
    #[cfg_attr(miri, ignore = "SKIPPED: arithmetic without unsafe code")]
    fn the_verifier_agrees_with_the_plain_way(sample in samples()) {
        let layout = planned(&sample);
        prop_assert!(verify_layout(&sample.graph, &layout, &[]).is_ok());
        for edge in 0..sample.graph.edges.len() {
            for remove in [true, false] {
                let mut graph = sample.graph.clone();
                match remove {
                    true => drop(graph.edges.remove(edge)),
                    false => graph.edges[edge].full = false,
                }
                let accepted = verify_layout(&graph, &layout, &[]).is_ok();
                prop_assert_eq!(accepted, is_right(&graph, &layout));
            }
        }
        for moved in 0..layout.len() {
            let mut layout = layout.clone();
            layout[moved].offset += 256;
            let accepted = verify_layout(&sample.graph, &layout, &[]).is_ok();
            prop_assert_eq!(accepted, is_right(&sample.graph, &layout));
        }
    }
}

/// A node beside the region's beginning is not a use of it: the stream waited for another one in
/// the meantime.
#[test]
fn what_does_not_come_after_the_beginning_of_a_region_ends_none() {
    let edge = |from, to| OrderEdge { from, to, full: true };
    // One stream is 0 → 1 → 2; node 3 is on another one, without successors.
    let graph = GraphOrder { nodes: 4, edges: vec![edge(0, 1), edge(1, 2)] };
    let shared = |until: &[usize]| {
        verify_layout(&graph, &[region(0, &[0], until), region(0, &[1], &[2])], &[])
    };
    assert_eq!(shared(&[1, 3]).unwrap().sharing, 1);
    // The nodes between the beginning and the end of the first: none.
    assert_eq!(shared(&[0, 3]).unwrap().sharing, 0);
    let refused = LayoutViolation::Unordered { first: 0, second: 1 };
    assert_eq!(shared(&[2, 3]), Err(refused.clone()));
    // A region that ends before it begins is ordered with none.
    assert_eq!(shared(&[3]), Err(refused));
}

/// Tests each edge of a chain that the plan depends on, and each offset.
#[test]
#[cfg_attr(miri, ignore = "SKIPPED: arithmetic without unsafe code")]
fn any_single_deleted_edge_and_shifted_offset_is_found() {
    // Node k writes region k and reads region k - 1; regions k and k + 2 have the same bytes.
    let nodes = 12;
    let graph = chain(nodes);
    let layout: Vec<RegionLayout> = (0..nodes)
        .map(|node| RegionLayout {
            offset: (node as u64 % 2) * 256,
            bytes: 256,
            uses: vec![node, (node + 1).min(nodes - 1)],
            after: node.checked_sub(1).into_iter().collect(),
            until: vec![(node + 1).min(nodes - 1)],
        })
        .collect();
    let of = |node: usize, of: usize| NodeAccess { node, offset: layout[of].offset, bytes: 256 };
    let accesses: Vec<NodeAccess> =
        (0..nodes).flat_map(|node| [of(node, node), of(node, node.saturating_sub(1))]).collect();
    assert_eq!(verify_layout(&graph, &layout, &accesses).unwrap().sharing, 30);
    for edge in 0..graph.edges.len() {
        let mut without = graph.clone();
        without.edges.remove(edge);
        assert!(verify_layout(&without, &layout, &accesses).is_err(), "edge {edge}");
        let mut programmatic = graph.clone();
        programmatic.edges[edge].full = false;
        assert!(verify_layout(&programmatic, &layout, &accesses).is_err(), "edge {edge}");
    }
    for moved in 0..nodes {
        for shift in [64, 256, 4096] {
            let mut layout = layout.clone();
            layout[moved].offset += shift;
            assert!(verify_layout(&graph, &layout, &accesses).is_err(), "{moved} by {shift}");
        }
    }
}
