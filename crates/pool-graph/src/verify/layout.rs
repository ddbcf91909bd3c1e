//! The verifier's input: a graph, and the places of regions and accesses.

/// The nodes of a graph, by number from 0, and the edges between them.
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
    /// The earlier node.
    pub from: usize,
    /// The later node.
    pub to: usize,
    /// `true` if the later node begins after the earlier one is complete. Programmatic edges, and
    /// those of launch order, do not guarantee that: they order no memory.
    pub full: bool,
}

/// The place of a region, and its use by the graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegionLayout {
    /// The start of the bytes in the arena.
    pub offset: u64,
    /// The bytes of the region.
    pub bytes: u64,
    /// The nodes known to use it. For them the edges must confirm the statements of `after` and
    /// `until` about every use; further statements are trusted.
    pub uses: Vec<usize>,
    /// Every use comes after all of these nodes. The edges must show that each of them is one of
    /// those in `until`, or precedes one.
    pub after: Vec<usize>,
    /// Every use is one of these nodes, or precedes one of them. Empty: it is not used at all. So a
    /// node that does not come after all of `after` is not a use, and ends none.
    pub until: Vec<usize>,
}

/// Bytes of the arena in a node's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The node with the access.
    pub node: usize,
    /// The start of the bytes in the arena.
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

    /// Returns `true` if all bytes of an access are the region's own at some time.
    pub(super) fn contains(&self, access: &Access) -> bool {
        let end = access.offset.saturating_add(access.bytes);
        self.offset <= access.offset && end <= self.end()
    }
}

impl Access {
    /// Returns `true` if the access has bytes, and the end of the first one is a valid offset.
    pub(super) fn has_first_byte(&self) -> bool {
        self.bytes > 0 && self.offset < u64::MAX
    }
}
