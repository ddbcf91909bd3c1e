//! The verifier's input: a graph, its regions and its accesses.

/// The nodes of a graph, numbered from 0, and the edges between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphOrder {
    /// The number of nodes.
    pub nodes: usize,
    /// The edges, in any order.
    pub edges: Vec<OrderEdge>,
}

/// An edge between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OrderEdge {
    /// The number of the earlier node.
    pub from: usize,
    /// The number of the later node.
    pub to: usize,
    /// `true` if the later node begins only after the earlier node has completed. Programmatic
    /// edges and launch-order edges do not guarantee this, so they do not order memory accesses.
    pub full: bool,
}

/// The position of a region in the arena, and how the graph uses the region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegionLayout {
    /// The offset of the region in the arena.
    pub offset: u64,
    /// The size of the region in bytes.
    pub bytes: u64,
    /// The nodes that are known to use the region. For these nodes, the edges must confirm what
    /// `after` and `until` state about every use. For other uses, these statements are trusted.
    pub uses: Vec<usize>,
    /// Every use of the region follows all of these nodes. The edges must show that each of these
    /// nodes is one of the nodes in `until`, or precedes one of them.
    pub after: Vec<usize>,
    /// Every use of the region is one of these nodes, or precedes one of them. If the list is
    /// empty, the region is not used at all. A node in this list that does not follow all nodes in
    /// `after` is not a use of the region.
    pub until: Vec<usize>,
}

/// The bytes of the arena that a node's parameters refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The number of the node that accesses the bytes.
    pub node: usize,
    /// The offset of the access in the arena.
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

    /// Returns `true` if the region contains all bytes of an access.
    pub(super) fn contains(&self, access: &Access) -> bool {
        let end = access.offset.saturating_add(access.bytes);
        self.offset <= access.offset && end <= self.end()
    }
}

impl Access {
    /// Returns `true` if the access is not empty and its first byte ends at a valid offset.
    pub(super) fn has_first_byte(&self) -> bool {
        self.bytes > 0 && self.offset < u64::MAX
    }
}
