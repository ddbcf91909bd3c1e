//! The happens-before problem: buffers used by the operations of an acyclic graph, on any number
//! of streams.

use crate::error::PlanError;
use crate::limits;
use crate::markers;
use crate::operations::Operations;
use crate::validate;

/// What an edge between two operations promises.
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

/// One operation comes before another.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Edge {
    /// The earlier operation.
    pub from: usize,
    /// The later operation.
    pub to: usize,
    /// What the edge promises.
    #[cfg_attr(feature = "serde", serde(default))]
    pub kind: EdgeKind,
}

impl Edge {
    /// An edge of full completion.
    #[must_use]
    pub const fn full(from: usize, to: usize) -> Self {
        Self { from, to, kind: EdgeKind::Full }
    }
}

/// Whether a buffer's bytes are its own.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
pub enum Role {
    /// It lives within the graph and shares bytes with what is ordered before or after it.
    #[default]
    Temporary,
    /// It is filled before the graph starts; shares with nothing.
    LiveIn,
    /// It is read after the graph ends; shares with nothing.
    LiveOut,
    /// Something outside knows its address; shares with nothing.
    Pinned,
}

/// A buffer that operations of a graph use.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct GraphBuffer {
    /// Its name, unique in the problem.
    pub id: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its offset is a multiple of this power of two.
    #[cfg_attr(feature = "serde", serde(default = "limits::unaligned"))]
    pub alignment: u64,
    /// Where it must be placed, if that is given.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub offset: Option<u64>,
    /// The alloc marker: every use of the buffer is this operation or comes after it.
    ///
    /// Where memory becomes available between operations (a stream and what it waits for), give
    /// that point an operation of its own.
    pub allocated_by: usize,
    /// The free markers: every use of the buffer is one of these, or comes before one of them.
    ///
    /// With none, the buffer is in use until the graph ends: it may take the bytes of what came
    /// before it, and nothing takes its own. One from which edges lead to the alloc marker is refused:
    /// no use could come after the one and before the other.
    #[cfg_attr(feature = "serde", serde(default, deserialize_with = "crate::lists::markers"))]
    pub freed_by: Vec<usize>,
    /// Whether its bytes are its own.
    #[cfg_attr(feature = "serde", serde(default))]
    pub role: Role,
}

impl GraphBuffer {
    /// A temporary of `size` bytes between its alloc marker and its free markers.
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

/// Buffers of a graph of operations: two of them may share bytes only if every use of the one is
/// an ancestor, along edges of full completion, of the other's alloc marker.
///
/// ```
/// use pool_plan::{Edge, GraphBuffer, HappensBeforeProblem, Options};
///
/// // 0 → 1 → 3 and 0 → 2 → 3: the branches 1 and 2 may run at the same time.
/// let edges = vec![Edge::full(0, 1), Edge::full(0, 2), Edge::full(1, 3), Edge::full(2, 3)];
/// let buffers = vec![
///     GraphBuffer::new("left", 512, 1, [1]),
///     GraphBuffer::new("right", 256, 2, [2]),
///     GraphBuffer::new("joined", 768, 3, [3]),
/// ];
/// let plan = HappensBeforeProblem::new(4, edges, buffers)?.solve(&Options::default())?;
/// assert_eq!(plan.certificate.peak, 768);
/// assert_eq!(plan.certificate.bound, 768);
/// # Ok::<(), pool_plan::PlanError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(try_from = "Unchecked", into = "Unchecked"))]
pub struct HappensBeforeProblem {
    operations: usize,
    edges: Vec<Edge>,
    buffers: Vec<GraphBuffer>,
}

impl HappensBeforeProblem {
    /// The problem of placing `buffers` that are used by operations `0..operations`.
    ///
    /// # Errors
    /// If there are no buffers, if there are more of them, of edges or of free markers than the planner
    /// takes, if one is malformed, if two have one name, if the sizes exceed `i64::MAX` bytes together,
    /// if an operation does not exist, if the edges form a cycle, if a buffer is freed before it is
    /// allocated, or if fixed offsets collide.
    pub fn new(
        operations: usize,
        edges: Vec<Edge>,
        buffers: Vec<GraphBuffer>,
    ) -> Result<Self, PlanError> {
        let markers = buffers.iter().map(|buffer| buffer.freed_by.len());
        limits::check_graph(edges.len(), buffers.len(), markers)?;
        limits::check(buffers.iter().map(|buffer| limits::Request {
            id: &buffer.id,
            size: buffer.size,
            alignment: buffer.alignment,
            offset: buffer.offset,
        }))?;
        let of_edges = edges.iter().flat_map(|edge| [edge.from, edge.to]);
        let of_buffers = buffers.iter().flat_map(|buffer| {
            std::iter::once(buffer.allocated_by).chain(buffer.freed_by.iter().copied())
        });
        if let Some(operation) = of_edges.chain(of_buffers).find(|&one| one >= operations) {
            return Err(PlanError::UnknownOperation { operation, operations });
        }
        let named = Operations::of(&edges, &buffers);
        let order = named.in_order(&edges);
        let order = order.map_err(|operations| PlanError::Cycle { operations })?;
        markers::check(&named, &order, &edges, &buffers)?;
        let problem = Self { operations, edges, buffers };
        validate::fixed_in_graph(&problem).map_err(PlanError::FixedOverlap)?;
        Ok(problem)
    }

    /// How many operations there are.
    #[must_use]
    pub fn operations(&self) -> usize {
        self.operations
    }

    /// The edges between operations.
    #[must_use]
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// The buffers, in the order in which a plan's offsets are listed.
    #[must_use]
    pub fn buffers(&self) -> &[GraphBuffer] {
        &self.buffers
    }
}

/// What a file holds, before it is checked.
#[cfg(feature = "serde")]
#[derive(serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
struct Unchecked {
    operations: usize,
    #[serde(deserialize_with = "crate::lists::edges")]
    edges: Vec<Edge>,
    #[serde(deserialize_with = "crate::lists::graph_buffers")]
    buffers: Vec<GraphBuffer>,
}

#[cfg(feature = "serde")]
impl TryFrom<Unchecked> for HappensBeforeProblem {
    type Error = PlanError;

    fn try_from(unchecked: Unchecked) -> Result<Self, PlanError> {
        Self::new(unchecked.operations, unchecked.edges, unchecked.buffers)
    }
}

#[cfg(feature = "serde")]
impl From<HappensBeforeProblem> for Unchecked {
    fn from(problem: HappensBeforeProblem) -> Self {
        Self { operations: problem.operations, edges: problem.edges, buffers: problem.buffers }
    }
}
