//! A graph as the verifier is given it, and where regions and accesses lie.

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
    /// The later node.
    pub to: usize,
    /// Whether the later one begins after the earlier one is complete. Programmatic edges, and those of
    /// launch order, do not say that: they order no memory.
    pub full: bool,
}

/// Where a region was put, and when the graph uses it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RegionLayout {
    /// Where the bytes begin in the arena.
    pub offset: u64,
    /// The bytes of the region.
    pub bytes: u64,
    /// The nodes that use it, as far as they are known. For them the edges must show what `after` and
    /// `until` say of every use; what else they say is believed.
    pub uses: Vec<usize>,
    /// Every use comes after all of these nodes. The edges must show that each of them is one of those in `until`, or
    /// comes before one.
    pub after: Vec<usize>,
    /// Every use is one of these nodes, or comes before one of them. None: it is not used at all. So a node that does
    /// not come after all of `after` is no use, and ends none.
    pub until: Vec<usize>,
}

/// Bytes of the arena that a node names in its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The node that names the bytes.
    pub node: usize,
    /// Where the bytes begin in the arena.
    pub offset: u64,
    /// How many bytes are accessed.
    pub bytes: u64,
}

impl RegionLayout {
    pub(super) fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }

    pub(super) fn shares_with(&self, other: &Self) -> bool {
        self.offset.max(other.offset) < self.end().min(other.end())
    }

    /// Whether all bytes of an access are the region's own at some time.
    pub(super) fn contains(&self, access: &Access) -> bool {
        let end = access.offset.saturating_add(access.bytes);
        self.offset <= access.offset && end <= self.end()
    }
}

impl Access {
    /// Whether the access has bytes, the first of which an offset can say the end of.
    pub(super) fn has_first_byte(&self) -> bool {
        self.bytes > 0 && self.offset < u64::MAX
    }
}
