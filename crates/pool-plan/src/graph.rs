//! The parts of a graph problem: edges between operations, and the buffers that operations use.

/// The promise of an edge between two operations.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum EdgeKind {
    /// The second begins after the first is complete and its writes are visible.
    #[default]
    Full,
    /// The second may begin while the first still runs (programmatic dependent launch, launch
    /// order): it orders no memory.
    Programmatic,
}

/// An edge of the graph: one operation comes before another.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Edge {
    /// The earlier operation.
    pub from: usize,
    /// The later operation.
    pub to: usize,
    /// The promise of the edge.
    #[cfg_attr(feature = "serde", serde(default))]
    pub kind: EdgeKind,
}

impl Edge {
    /// Makes an edge of full completion.
    #[must_use]
    pub const fn full(from: usize, to: usize) -> Self {
        Self { from, to, kind: EdgeKind::Full }
    }
}

/// The sharing rule of a buffer's bytes.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Role {
    /// The buffer lives within the graph, and shares bytes with buffers that are ordered before or after it.
    #[default]
    Temporary,
    /// The buffer is filled before the graph starts, and shares bytes with no other.
    LiveIn,
    /// The buffer is read after the graph ends, and shares bytes with no other.
    LiveOut,
    /// Code outside the graph has the buffer's address; the buffer shares bytes with no other.
    Pinned,
}

/// A buffer that operations of a graph use.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct GraphBuffer {
    /// The buffer's name, unique in the problem. An empty one is no name: messages then have the buffer's index, as in
    /// `#7`.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "String::is_empty"))]
    pub id: String,
    /// The buffer's size in bytes.
    pub size: u64,
    /// The alignment of the buffer's offset, a power of two.
    #[cfg_attr(feature = "serde", serde(default = "crate::limits::unaligned"))]
    pub alignment: u64,
    /// The offset at which the buffer must be placed, if it is fixed.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub offset: Option<u64>,
    /// The alloc marker: every use of the buffer is this operation or a later one.
    ///
    /// If memory becomes available between operations (a stream and the events it waits for), give
    /// that point an operation of its own.
    pub allocated_by: usize,
    /// The free markers: every use of the buffer is one of these, or comes before one of them.
    ///
    /// A buffer without free markers is in use until the graph ends: it may take the bytes of
    /// earlier buffers, but no later buffer takes its bytes. A free marker from which edges lead to
    /// the alloc marker is refused, because no use could be after the alloc marker and before the
    /// free marker.
    #[cfg_attr(feature = "serde", serde(default, deserialize_with = "crate::lists::markers"))]
    pub freed_by: Vec<usize>,
    /// The sharing rule of the buffer's bytes.
    #[cfg_attr(feature = "serde", serde(default))]
    pub role: Role,
}

impl GraphBuffer {
    /// Makes a temporary of `size` bytes between its alloc marker and its free markers.
    #[must_use]
    pub fn new(
        id: impl Into<String>,
        size: u64,
        allocated_by: usize,
        freed_by: impl Into<Vec<usize>>,
    ) -> Self {
        Self {
            id: id.into(),
            size,
            alignment: 1,
            offset: None,
            allocated_by,
            freed_by: freed_by.into(),
            role: Role::Temporary,
        }
    }
}
