//! The verifier's entry point, which checks a layout against a graph.

use super::error::LayoutViolation;
use super::layout::{GraphOrder, NodeAccess, RegionLayout};
use super::lives::Lives;
use super::order::Order;
use super::questions::Questions;
use super::regions::Regions;
use super::sweep::{SweepResult, sweep};

/// The result of a successful verification, including the numbers of pairs and accesses that were
/// checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// The number of region pairs that share bytes. The graph uses the regions in each pair one
    /// after the other.
    pub sharing: usize,
    /// The number of memory accesses that the nodes perform. Each access lies in a region that owns
    /// the accessed bytes at that point.
    pub accesses: usize,
}

/// The number of accesses that the verifier checks in one group.
const TRIED_TOGETHER: usize = 1 << 20;

/// Checks that a graph uses its memory as a layout requires. Regions that share bytes must be used
/// one after the other. Each access by a node must lie in a region that owns the accessed bytes at
/// that point.
///
/// ```
/// use pool_graph::{GraphOrder, RegionLayout, LayoutViolation, OrderEdge, verify_layout};
///
/// // 0 → 1 → 2, and both regions at offset 0: one is used by node 0, one by node 2.
/// let edge = |from, to| OrderEdge { from, to, full: true };
/// let mut graph = GraphOrder { nodes: 3, edges: vec![edge(0, 1), edge(1, 2)] };
/// let first = RegionLayout { offset: 0, bytes: 256, uses: vec![0], after: vec![], until: vec![0] };
/// let second = RegionLayout { offset: 0, bytes: 512, uses: vec![2], after: vec![1], until: vec![2] };
/// let layout = [first, second];
/// assert_eq!(verify_layout(&graph, &layout, &[]).unwrap().sharing, 1);
///
/// for edge in 0..2 {
///     graph.edges[edge].full = false; // a programmatic edge orders no memory
///     let refused = verify_layout(&graph, &layout, &[]).unwrap_err();
///     assert_eq!(refused, LayoutViolation::Unordered { first: 0, second: 1 });
///     graph.edges[edge].full = true;
/// }
/// ```
///
/// Memory usage grows with the number of named nodes, edges, regions, and accesses, but not with
/// the number of pairs.
///
/// # Errors
///
/// Returns the first violation that the verifier detects. A violation identifies regions by index
/// and nodes by number. If regions that share bytes are unordered, the violation names the first
/// region, in offset order, that conflicts with an earlier one.
pub fn verify_layout(
    graph: &GraphOrder,
    layout: &[RegionLayout],
    accesses: &[NodeAccess],
) -> Result<Verification, LayoutViolation> {
    let of_layout = layout
        .iter()
        .flat_map(|region| region.uses.iter().chain(&region.after).chain(&region.until));
    let named = of_layout.copied().chain(accesses.iter().map(|access| access.node));
    let order = Order::of(graph, named.clone())?;
    check_names(graph, named, layout)?;
    let regions = Regions::new(layout, &order);
    let questions = Questions::new(&order, &regions);
    let lives = questions.lives(&regions.sharing());
    let swept = sweep(&order, &regions, &lives, accesses);
    if let Some((first, second)) = unordered(&questions, &lives, layout, &swept) {
        return Err(LayoutViolation::Unordered { first, second });
    }
    if let Some(stray) = stray(&order, &questions, layout, accesses, &swept.owners) {
        let NodeAccess { node, offset, bytes } = accesses[stray];
        return Err(LayoutViolation::StrayAccess { node, offset, bytes });
    }
    Ok(Verification { sharing: swept.sharing, accesses: accesses.len() })
}

/// Returns two unordered regions that share bytes, with the lower index first. From all regions
/// that conflict with an earlier region, the function selects the first one in offset order. It
/// then selects the first region that conflicts with the selected one.
fn unordered(
    questions: &Questions<'_>,
    lives: &Lives,
    layout: &[RegionLayout],
    swept: &SweepResult,
) -> Option<(usize, usize)> {
    let pairs: Vec<(usize, usize)> =
        swept.pairs.iter().map(|pair| (pair.earlier, pair.later)).collect();
    let ordered = questions.are_before(lives, &pairs);
    let found = swept.pairs.iter().zip(ordered).find(|(_, ordered)| !ordered)?.0;
    // The two regions in the unordered pair conflict with each other. However, `new` might also
    // conflict with a region at a lower offset, and the function must report the lowest such
    // region.
    let new = swept.by_offset[found.at];
    let before = swept.by_offset[..found.at].iter().copied();
    let others: Vec<usize> = before.filter(|&one| layout[one].shares_with(&layout[new])).collect();
    let both_ways: Vec<(usize, usize)> =
        others.iter().flat_map(|&other| [(other, new), (new, other)]).collect();
    let ordered = questions.are_before(lives, &both_ways);
    let in_the_way = ordered.chunks(2).position(|either| !either.contains(&true));
    let next_to = if found.earlier == new { found.later } else { found.earlier };
    let other = in_the_way.map_or(next_to, |one| others[one]);
    Some((new.min(other), new.max(other)))
}

/// Returns the first access whose bytes do not belong to any region at that point.
fn stray(
    order: &Order,
    questions: &Questions<'_>,
    layout: &[RegionLayout],
    accesses: &[NodeAccess],
    owners: &[Option<usize>],
) -> Option<usize> {
    let mut is_stray = vec![true; accesses.len()];
    // The accesses to check, each with a region that might contain the access. The verifier checks
    // the accesses in large groups.
    let mut tried: Vec<(usize, usize)> = Vec::new();
    let mut judge = |tried: &mut Vec<(usize, usize)>| {
        let placed =
            |&(access, region): &(usize, usize)| (order.place(accesses[access].node), region);
        let timely = questions.are_timely(&tried.iter().map(placed).collect::<Vec<_>>());
        for ((access, _), timely) in tried.drain(..).zip(timely) {
            is_stray[access] &= !timely;
        }
    };
    for (index, access) in accesses.iter().enumerate() {
        if access.has_first_byte() {
            tried.extend(owners[index].map(|region| (index, region)));
        } else {
            // Even regions without common bytes can both contain an empty access, so every region
            // that contains it is checked.
            let around = (0..layout.len()).filter(|&region| layout[region].contains(access));
            tried.extend(around.map(|region| (index, region)));
        }
        if tried.len() >= TRIED_TOGETHER {
            judge(&mut tried);
        }
    }
    judge(&mut tried);
    is_stray.into_iter().position(|is_stray| is_stray)
}

/// Checks that every named node exists and that no region ends beyond the maximum offset.
fn check_names(
    graph: &GraphOrder,
    mut named: impl Iterator<Item = usize>,
    layout: &[RegionLayout],
) -> Result<(), LayoutViolation> {
    let nodes = graph.nodes;
    if let Some(node) = named.find(|&node| node >= nodes) {
        return Err(LayoutViolation::UnknownNode { node, nodes });
    }
    let too_long = |region: &RegionLayout| region.offset.checked_add(region.bytes).is_none();
    match layout.iter().position(too_long) {
        Some(region) => {
            let RegionLayout { offset, bytes, .. } = layout[region];
            Err(LayoutViolation::Overflow { region, offset, bytes })
        }
        None => Ok(()),
    }
}
