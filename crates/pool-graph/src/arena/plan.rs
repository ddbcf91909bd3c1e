//! The plan of an arena: the offset of each allocation of a capture, in the order of the calls.

use std::sync::Arc;

use pool_plan::{HappensBeforeProblem, IntervalProblem, Plan, Violation};
use thiserror::Error;

use crate::base::request::GRANULE;

/// The treatment of an allocation that differs from the plan of an arena.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Divergence {
    /// The allocation is refused with an error.
    #[default]
    Refuse,
    /// This allocation and every later one receive separate bytes, after the bytes of the plan.
    FreshBytes,
}

/// The offsets for the allocations of a capture. The k-th allocation since the last reset is placed
/// at the k-th offset.
///
/// An arena plan is created from a problem and its plan. The problem's buffers must be in the order
/// of the capture's allocations. The plan is validated again, with code that is independent of the
/// planner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArenaPlan {
    /// The offset and the size of each allocation. The list is shared, so that copying the plan
    /// allocates nothing.
    regions: Arc<[(u64, u64)]>,
    peak: u64,
    divergence: Divergence,
}

/// The reason why a plan cannot be followed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArenaPlanError {
    /// Two buffers share bytes although they must not, or the offsets do not belong to the problem.
    #[error("the plan is not valid for its problem")]
    Invalid(#[source] Violation),
    /// An offset is not a multiple of 256: give the problem's buffers that alignment.
    #[error(
        "buffer #{buffer} is at offset {offset}, which is not a multiple of {GRANULE}: set the \
         alignment of the problem's buffers to {GRANULE}"
    )]
    Unaligned {
        /// The index of the buffer.
        buffer: usize,
        /// The offset of the buffer.
        offset: u64,
    },
}

impl ArenaPlan {
    /// Creates a plan for a capture on one stream.
    ///
    /// # Errors
    ///
    /// Fails if the plan does not belong to the problem, or an offset is not a multiple of 256.
    pub fn of_intervals(problem: &IntervalProblem, plan: &Plan) -> Result<Self, ArenaPlanError> {
        let peak = problem.validate(&plan.offsets).map_err(ArenaPlanError::Invalid)?;
        Self::new(&plan.offsets, problem.buffers().iter().map(|buffer| buffer.size), peak)
    }

    /// Creates a plan for a capture that forks and joins.
    ///
    /// # Errors
    ///
    /// Fails if the plan does not belong to the problem, or an offset is not a multiple of 256.
    pub fn of_graph(problem: &HappensBeforeProblem, plan: &Plan) -> Result<Self, ArenaPlanError> {
        let peak = problem.validate(&plan.offsets).map_err(ArenaPlanError::Invalid)?;
        Self::new(&plan.offsets, problem.buffers().iter().map(|buffer| buffer.size), peak)
    }

    /// Creates a plan from these offsets, for a capture that forks and joins.
    #[cfg(feature = "cuda")]
    pub(crate) fn of_offsets(
        problem: &HappensBeforeProblem,
        offsets: &[u64],
    ) -> Result<Self, ArenaPlanError> {
        let peak = problem.validate(offsets).map_err(ArenaPlanError::Invalid)?;
        Self::new(offsets, problem.buffers().iter().map(|buffer| buffer.size), peak)
    }

    /// Returns the plan with another treatment of allocations that differ from it.
    #[must_use]
    pub fn on_divergence(self, divergence: Divergence) -> Self {
        Self { divergence, ..self }
    }

    /// Returns the number of bytes that an arena needs for the plan.
    #[must_use]
    pub fn peak(&self) -> u64 {
        self.peak
    }

    /// Returns the number of allocations in the plan.
    #[must_use]
    pub fn allocations(&self) -> usize {
        self.regions.len()
    }

    pub(super) fn get(&self, allocation: usize) -> Option<(u64, u64)> {
        self.regions.get(allocation).copied()
    }

    pub(super) fn divergence(&self) -> Divergence {
        self.divergence
    }

    pub(super) fn new(
        offsets: &[u64],
        sizes: impl Iterator<Item = u64>,
        peak: u64,
    ) -> Result<Self, ArenaPlanError> {
        let regions: Arc<[(u64, u64)]> = offsets.iter().copied().zip(sizes).collect();
        let unaligned = regions.iter().position(|(offset, _)| offset % GRANULE != 0);
        match unaligned {
            Some(buffer) => Err(ArenaPlanError::Unaligned { buffer, offset: regions[buffer].0 }),
            None => Ok(Self { regions, peak, divergence: Divergence::default() }),
        }
    }
}
