//! A plan for an arena: the offset of each allocation, listed in call order.

use std::sync::Arc;

use pool_plan::{HappensBeforeProblem, IntervalProblem, Plan, Violation};
use thiserror::Error;

use crate::base::request::GRANULE;

/// The arena's behavior when an allocation differs from the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Divergence {
    /// The arena refuses the allocation and returns an error.
    #[default]
    Refuse,
    /// The arena places this allocation and all later ones after the planned bytes, and never
    /// reuses their bytes.
    FreshBytes,
}

/// The planned offsets of a capture's allocations. After a reset, the k-th allocation is placed at
/// the k-th offset.
///
/// An `ArenaPlan` is created from a planning problem and its solution. The problem's buffers must
/// be in the same order as the capture's allocations. The constructor revalidates the plan, using
/// code that is independent of the planner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArenaPlan {
    /// The offset and size of each allocation. Copies of the plan share this list, so copying a
    /// plan allocates no memory.
    regions: Arc<[(u64, u64)]>,
    peak: u64,
    divergence: Divergence,
}

/// The reason an arena cannot follow a plan.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArenaPlanError {
    /// Two buffers overlap even though they are in use at the same time, or the list of offsets
    /// does not match the problem.
    #[error("the plan is not a valid solution to its problem")]
    Invalid(#[source] Violation),
    /// An offset is not a multiple of 256. The problem's buffers must have an alignment of 256.
    #[error(
        "buffer #{buffer} is at offset {offset}, which is not a multiple of {GRANULE}: set the \
         alignment of all buffers in the problem to {GRANULE}"
    )]
    Unaligned {
        /// The buffer's index in the planning problem.
        buffer: usize,
        /// The buffer's planned offset.
        offset: u64,
    },
}

impl ArenaPlan {
    /// Creates a plan for a capture that uses a single stream.
    ///
    /// # Errors
    ///
    /// Returns an error if the plan does not match the problem, or if an offset is not a multiple
    /// of 256.
    pub fn of_intervals(problem: &IntervalProblem, plan: &Plan) -> Result<Self, ArenaPlanError> {
        let peak = problem.validate(&plan.offsets).map_err(ArenaPlanError::Invalid)?;
        Self::new(&plan.offsets, problem.buffers().iter().map(|buffer| buffer.size), peak)
    }

    /// Creates a plan for a capture that forks into several streams and joins them again.
    ///
    /// # Errors
    ///
    /// Returns an error if the plan does not match the problem, or if an offset is not a multiple
    /// of 256.
    pub fn of_graph(problem: &HappensBeforeProblem, plan: &Plan) -> Result<Self, ArenaPlanError> {
        let peak = problem.validate(&plan.offsets).map_err(ArenaPlanError::Invalid)?;
        Self::new(&plan.offsets, problem.buffers().iter().map(|buffer| buffer.size), peak)
    }

    /// Creates a plan from the given offsets for a capture that forks into several streams and
    /// joins them again.
    #[cfg(feature = "cuda")]
    pub(crate) fn of_offsets(
        problem: &HappensBeforeProblem,
        offsets: &[u64],
    ) -> Result<Self, ArenaPlanError> {
        let peak = problem.validate(offsets).map_err(ArenaPlanError::Invalid)?;
        Self::new(offsets, problem.buffers().iter().map(|buffer| buffer.size), peak)
    }

    /// Sets what the arena does when an allocation differs from the plan.
    #[must_use]
    pub fn on_divergence(self, divergence: Divergence) -> Self {
        Self { divergence, ..self }
    }

    /// Returns the number of bytes that the plan requires.
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
