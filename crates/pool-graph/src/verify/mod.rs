//! The verifier: given what a graph really is, its nodes and what its edges order, it checks once more
//! every two regions that share bytes. It shares no code with the planner, and trusts none of it.

mod ancestors;
mod error;

pub use error::LayoutViolation;

use ancestors::Ancestors;

/// The nodes of a graph, by number from 0, and the edges between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphOrder {
    /// How many nodes there are.
    pub nodes: usize,
    /// The edges, in any order.
    pub edges: Vec<OrderEdge>,
}

/// An edge between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OrderEdge {
    /// The earlier node.
    pub from: usize,
    /// The later one.
    pub to: usize,
    /// Whether the later one begins after the earlier one is complete. Programmatic edges, and those of
    /// launch order, do not say that: they order no memory.
    pub full: bool,
}

/// Where a region was put, and when the graph uses it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaidOut {
    /// Where it begins in the arena.
    pub offset: u64,
    /// Its bytes.
    pub bytes: u64,
    /// The nodes that use it, as far as they are known. For them the edges must show what `after` and
    /// `until` say of every use; what else they say is believed.
    pub uses: Vec<usize>,
    /// Every use comes after all of these nodes.
    pub after: Vec<usize>,
    /// Every use is one of these nodes, or comes before one of them. None: it is not used at all.
    pub until: Vec<usize>,
}

/// Bytes of the arena that a node names in its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The node.
    pub node: usize,
    /// Where it begins in the arena.
    pub offset: u64,
    /// How many bytes.
    pub bytes: u64,
}

/// What was checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Pairs of regions that share bytes; all are ordered.
    pub sharing: usize,
    /// Accesses that nodes name; all lie in a region, at a time when it is that region's.
    pub accesses: usize,
}

impl LaidOut {
    fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }

    fn shares_with(&self, other: &Self) -> bool {
        self.offset.max(other.offset) < self.end().min(other.end())
    }
}

/// Checks a layout against a graph: regions that share bytes are used one after the other, and what
/// nodes access lies in a region at a time when the bytes are its own.
///
/// ```
/// use pool_graph::{GraphOrder, LaidOut, LayoutViolation, OrderEdge, verify_layout};
///
/// // 0 → 1 → 2, and both regions at offset 0: one is used by node 0, one by node 2.
/// let edge = |from, to| OrderEdge { from, to, full: true };
/// let mut graph = GraphOrder { nodes: 3, edges: vec![edge(0, 1), edge(1, 2)] };
/// let first = LaidOut { offset: 0, bytes: 256, uses: vec![0], after: vec![], until: vec![0] };
/// let second = LaidOut { offset: 0, bytes: 512, uses: vec![2], after: vec![1], until: vec![2] };
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
/// # Errors
///
/// The first thing that is wrong, by the numbers of regions and nodes.
pub fn verify_layout(
    graph: &GraphOrder,
    layout: &[LaidOut],
    accesses: &[Access],
) -> Result<Verified, LayoutViolation> {
    let of_layout = layout
        .iter()
        .flat_map(|region| region.uses.iter().chain(&region.after).chain(&region.until));
    let named = of_layout.copied().chain(accesses.iter().map(|access| access.node));
    let ancestors = Ancestors::of(graph, named.clone())?;
    check_names(graph, named, layout)?;
    let shown: Vec<Shown> = layout.iter().map(|region| Shown::of(region, &ancestors)).collect();
    let is_before = |earlier: usize, later: usize| {
        shown[earlier].end
            && shown[later].begin
            && follows(&ancestors, &layout[earlier], &layout[later])
    };
    let mut verified = Verified { sharing: 0, accesses: accesses.len() };
    // In the order of offsets, whatever shares bytes with a region stands soon after it.
    let mut by_offset: Vec<usize> =
        (0..layout.len()).filter(|&one| !layout[one].until.is_empty()).collect();
    by_offset.sort_by_key(|&one| layout[one].offset);
    for (place, &one) in by_offset.iter().enumerate() {
        let near = by_offset[place + 1..].iter().copied();
        for other in near.take_while(|&other| layout[other].offset < layout[one].end()) {
            if !layout[one].shares_with(&layout[other]) {
                continue;
            }
            verified.sharing += 1;
            if !is_before(one, other) && !is_before(other, one) {
                let (first, second) = (one.min(other), one.max(other));
                return Err(LayoutViolation::Unordered { first, second });
            }
        }
    }
    for access in accesses {
        if !layout.iter().any(|region| is_of(&ancestors, access, region)) {
            let Access { node, offset, bytes } = *access;
            return Err(LayoutViolation::StrayAccess { node, offset, bytes });
        }
    }
    Ok(verified)
}

/// Whether the edges show of a region's uses what is said of them.
#[derive(Clone, Copy, Debug)]
struct Shown {
    /// Each comes after all that it should.
    begin: bool,
    /// Each is one of the last, or comes before one of them.
    end: bool,
}

impl Shown {
    fn of(region: &LaidOut, ancestors: &Ancestors) -> Self {
        Self {
            begin: region.uses.iter().all(|&node| has_begun(ancestors, region, node)),
            end: region.uses.iter().all(|&node| has_not_ended(ancestors, region, node)),
        }
    }
}

/// Whether a node comes after all that a region's uses come after.
fn has_begun(ancestors: &Ancestors, region: &LaidOut, node: usize) -> bool {
    region.after.iter().all(|&begin| ancestors.is_before(begin, node))
}

/// Whether a node is one of a region's last uses, or before one of them.
fn has_not_ended(ancestors: &Ancestors, region: &LaidOut, node: usize) -> bool {
    region.until.iter().any(|&last| last == node || ancestors.is_before(node, last))
}

/// Whether what ends the one is complete before the other begins, and before its last uses: that these
/// come after what the other begins after is what was said, so they are looked at themselves.
fn follows(ancestors: &Ancestors, earlier: &LaidOut, later: &LaidOut) -> bool {
    earlier.until.iter().all(|&last| {
        let begins = |&begin: &usize| last == begin || ancestors.is_before(last, begin);
        let is_over = |&user: &usize| ancestors.is_before(last, user);
        later.after.iter().any(begins) && later.until.iter().all(is_over)
    })
}

/// Whether an access is one to this region, made while the bytes are its own.
fn is_of(ancestors: &Ancestors, access: &Access, region: &LaidOut) -> bool {
    let inside = region.offset <= access.offset
        && access.offset.saturating_add(access.bytes) <= region.end();
    inside
        && has_begun(ancestors, region, access.node)
        && has_not_ended(ancestors, region, access.node)
}

/// Every node that is named exists, and no region leaves what an offset can say.
fn check_names(
    graph: &GraphOrder,
    mut named: impl Iterator<Item = usize>,
    layout: &[LaidOut],
) -> Result<(), LayoutViolation> {
    let nodes = graph.nodes;
    if let Some(node) = named.find(|&node| node >= nodes) {
        return Err(LayoutViolation::UnknownNode { node, nodes });
    }
    let too_long = |region: &LaidOut| region.offset.checked_add(region.bytes).is_none();
    match layout.iter().position(too_long) {
        Some(region) => {
            let LaidOut { offset, bytes, .. } = layout[region];
            Err(LayoutViolation::Overflow { region, offset, bytes })
        }
        None => Ok(()),
    }
}
