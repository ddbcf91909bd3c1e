//! The happens-before problem. An acyclic graph's operations use buffers on any number of streams.

use crate::error::PlanError;
#[cfg(feature = "serde")]
use crate::error::error_chain;
use crate::graph::{Edge, GraphBuffer};
use crate::limits;
use crate::markers;
use crate::operations::Operations;
use crate::validate::graph;
use crate::violation::Violation;

/// A graph's operations and the buffers that they use. Two buffers may share bytes only if every
/// use of one precedes the allocation of the other. Paths of `Full` edges must lead from each use
/// of one buffer to the other buffer's alloc marker.
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
#[cfg_attr(feature = "serde", serde(try_from = "ProblemFile", into = "ProblemFile"))]
pub struct HappensBeforeProblem {
    operations: usize,
    edges: Vec<Edge>,
    buffers: Vec<GraphBuffer>,
}

impl HappensBeforeProblem {
    /// Creates the problem of placing `buffers`, which the operations `0..operations` use.
    ///
    /// # Errors
    /// Returns an error in the following cases:
    /// - The problem contains no buffers, or more buffers, edges, or free markers than the planner
    ///   supports.
    /// - A buffer is malformed, or two buffers have the same name.
    /// - The sum of the sizes exceeds `i64::MAX` bytes, or fixed offsets collide.
    /// - An edge or a buffer refers to a nonexistent operation, or some edges form a cycle.
    /// - A buffer is freed before it is allocated.
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
        graph::check_fixed(&edges, &buffers).map_err(PlanError::FixedOverlap)?;
        Ok(Self { operations, edges, buffers })
    }

    /// Returns the peak of a plan that places buffer `i` at `offsets[i]`. The peak is the offset
    /// just past the highest byte that any buffer occupies.
    ///
    /// # Errors
    /// Returns the first violation that the validator finds. An offset that is misaligned or
    /// differs from the buffer's fixed offset is a violation. It is also a violation if two
    /// unordered buffers share bytes.
    pub fn validate(&self, offsets: &[u64]) -> Result<u64, Violation> {
        graph::peak(&self.edges, &self.buffers, offsets)
    }

    /// Returns a lower bound, in bytes, on the peak of every plan. The lower bound holds because no
    /// two buffers in `witness` may share bytes.
    ///
    /// If `witness` comes from a certificate, the result equals the certificate's bound. The
    /// validator computes the bound independently of the solver. The bound follows from the sizes,
    /// the fixed offsets, and the padding that alignments require.
    ///
    /// # Errors
    /// Fails if `witness` contains an index that belongs to no buffer, the same index twice, or two
    /// buffers that are ordered one after the other.
    pub fn validate_witness(&self, witness: &[usize]) -> Result<u64, Violation> {
        graph::witnessed(&self.edges, &self.buffers, witness)
    }

    /// Returns the problem without fixed offsets. Call `without_offsets` to plan again from scratch
    /// if the offsets come from an older plan.
    #[must_use]
    pub fn without_offsets(mut self) -> Self {
        self.buffers.iter_mut().for_each(|buffer| buffer.offset = None);
        self
    }

    /// Returns the number of operations.
    #[must_use]
    pub fn operations(&self) -> usize {
        self.operations
    }

    /// Returns the edges between operations.
    #[must_use]
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }

    /// Returns the buffers. A plan's offsets are in the same order as the returned slice.
    #[must_use]
    pub fn buffers(&self) -> &[GraphBuffer] {
        &self.buffers
    }
}

/// The contents of a problem file before validation.
#[cfg(feature = "serde")]
#[derive(serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
struct ProblemFile {
    operations: usize,
    #[serde(deserialize_with = "crate::lists::edges")]
    edges: Vec<Edge>,
    #[serde(deserialize_with = "crate::lists::graph_buffers")]
    buffers: Vec<GraphBuffer>,
}

#[cfg(feature = "serde")]
impl TryFrom<ProblemFile> for HappensBeforeProblem {
    /// This type's error text includes all sources of the error, because a serde format can report
    /// an error only as text.
    type Error = String;

    fn try_from(unchecked: ProblemFile) -> Result<Self, String> {
        Self::new(unchecked.operations, unchecked.edges, unchecked.buffers)
            .map_err(|error| error_chain(&error))
    }
}

#[cfg(feature = "serde")]
impl From<HappensBeforeProblem> for ProblemFile {
    fn from(problem: HappensBeforeProblem) -> Self {
        Self { operations: problem.operations, edges: problem.edges, buffers: problem.buffers }
    }
}
