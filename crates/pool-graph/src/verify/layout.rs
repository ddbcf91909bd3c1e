//! The verifier's input: the order of a graph's nodes, an arena's regions, and the nodes' memory
//! accesses.

/// The order of a graph's nodes. The nodes are numbered from 0 and connected by edges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphOrder {
    /// The number of nodes in the graph.
    pub nodes: usize,
    /// The graph's edges, in any order.
    pub edges: Vec<OrderEdge>,
}

/// An edge between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OrderEdge {
    /// The earlier node's number.
    pub from: usize,
    /// The later node's number.
    pub to: usize,
    /// `true` if the later node begins only after the earlier node has completed. Programmatic
    /// edges and launch-order edges do not guarantee this order, so they do not order memory
    /// accesses.
    pub full: bool,
}

/// The offset and size of a region in the arena, and the nodes that use the region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegionLayout {
    /// The offset in the arena where the region starts.
    pub offset: u64,
    /// The region's size in bytes.
    pub bytes: u64,
    /// The nodes that are known to use the region. The verifier checks that the graph's edges place
    /// these nodes between `after` and `until`. For any other uses of the region, the verifier
    /// trusts `after` and `until`.
    pub uses: Vec<usize>,
    /// The nodes that precede every use of the region. The edges must show that each of these nodes
    /// belongs to `until` or precedes a node in it.
    pub after: Vec<usize>,
    /// The nodes that use the region last. Every node that uses the region belongs to this list or
    /// precedes a node in it. If the list is empty, no node uses the region. If a node in this list
    /// does not follow all nodes in `after`, it does not count as a use.
    pub until: Vec<usize>,
}

/// A range of bytes in the arena that appears in a node's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeAccess {
    /// The accessing node's number.
    pub node: usize,
    /// The offset in the arena where the access starts.
    pub offset: u64,
    /// The number of accessed bytes.
    pub bytes: u64,
}

impl RegionLayout {
    pub(super) fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }

    pub(super) fn shares_with(&self, other: &Self) -> bool {
        self.offset.max(other.offset) < self.end().min(other.end())
    }

    /// Returns `true` if the region contains the whole access.
    pub(super) fn contains(&self, access: &NodeAccess) -> bool {
        let end = access.offset.saturating_add(access.bytes);
        self.offset <= access.offset && end <= self.end()
    }
}

impl NodeAccess {
    /// Returns `true` if the access is not empty and starts below the maximum offset.
    pub(super) fn has_first_byte(&self) -> bool {
        self.bytes > 0 && self.offset < u64::MAX
    }
}
