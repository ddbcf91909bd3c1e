//! The edges between a graph's operations, and the buffers that the operations use.

/// The kind of order that an edge guarantees between two operations.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum EdgeKind {
    /// The second operation begins only after the first has completed and made its writes visible.
    #[default]
    Full,
    /// The second operation may begin while the first is still running (programmatic dependent
    /// launch, launch order). A programmatic edge does not establish an order between memory
    /// accesses.
    Programmatic,
}

/// A graph edge, which orders one operation before another.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Edge {
    /// The operation that comes first.
    pub from: usize,
    /// The operation that comes second.
    pub to: usize,
    /// The kind of order that the edge guarantees.
    #[cfg_attr(feature = "serde", serde(default))]
    pub kind: EdgeKind,
}

impl Edge {
    /// Creates an edge that makes the second operation wait until the first has completed.
    #[must_use]
    pub const fn full(from: usize, to: usize) -> Self {
        Self { from, to, kind: EdgeKind::Full }
    }
}

/// A buffer's role, which determines whether other buffers may share its bytes.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Role {
    /// The buffer is live only within the graph and may share bytes with buffers ordered before or
    /// after it.
    #[default]
    Temporary,
    /// The buffer is filled before the graph starts and shares bytes with no other buffer.
    LiveIn,
    /// The buffer is read after the graph ends and shares bytes with no other buffer.
    LiveOut,
    /// Code outside the graph holds the buffer's address. The buffer shares bytes with no other
    /// buffer.
    Pinned,
}

/// A buffer used by a graph's operations.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct GraphBuffer {
    /// The buffer's name, which must be unique in the problem. If the name is empty, messages show
    /// the buffer's index instead, such as `#7`.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "String::is_empty"))]
    pub id: String,
    /// The buffer's size in bytes.
    pub size: u64,
    /// The alignment of the buffer's offset, which must be a power of two.
    #[cfg_attr(feature = "serde", serde(default = "crate::limits::unaligned"))]
    pub alignment: u64,
    /// The buffer's fixed offset, or `None` if the planner may choose the offset.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub offset: Option<u64>,
    /// The alloc marker. Every operation that uses the buffer is either this operation or a later
    /// one.
    ///
    /// If a stream waits for events, memory may become available between two operations of the
    /// stream. Represent a stream's wait for events as an additional operation in the graph.
    pub allocated_by: usize,
    /// The free markers. Every operation that uses the buffer either is one of these operations or
    /// precedes one of them.
    ///
    /// A buffer without free markers is in use until the graph ends. A buffer without free markers
    /// may reuse the bytes of earlier buffers, but its own bytes are never reused. The planner
    /// rejects a problem if a path of edges leads from a free marker to the same buffer's alloc
    /// marker. A buffer that is freed before it is allocated could never be used.
    #[cfg_attr(feature = "serde", serde(default, deserialize_with = "crate::lists::markers"))]
    pub freed_by: Vec<usize>,
    /// The buffer's role, which determines whether other buffers may share its bytes.
    #[cfg_attr(feature = "serde", serde(default))]
    pub role: Role,
}

impl GraphBuffer {
    /// Creates a temporary buffer of `size` bytes that is live from its alloc marker to its free
    /// markers.
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
