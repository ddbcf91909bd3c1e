//! The offsets of the buffers in one memory, as computed by the planner for interval problems.

use std::time::Duration;

use crate::buffer::Buffer;
use crate::error::PlanError;
use crate::interval::IntervalProblem;
use crate::memory::Placement;
use crate::options::{Monitor, Options};

use super::instance::Instance;

/// A plan with its cost. The plan may exceed the capacities of some memories.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    pub(super) placements: Vec<Placement>,
    pub(super) peaks: Vec<u64>,
    pub(super) cost: u64,
}

/// The offsets of the buffers in one memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Packed {
    pub(super) offsets: Vec<u64>,
    pub(super) peak: u64,
    /// A lower bound on the peak of every plan for the buffers in this memory.
    pub(super) least: u64,
}

/// The maximum amount of work for packing one memory.
#[derive(Clone, Copy)]
pub(super) struct Effort<'a> {
    pub(super) rounds: Option<u32>,
    pub(super) budget: Duration,
    pub(super) threads: usize,
    pub(super) seed: u64,
    pub(super) monitor: &'a Monitor,
}

impl Instance<'_> {
    /// Packs the given buffers into a memory, keeping the peak as low as the effort permits. If
    /// bytes in the memory cost nothing, the function only tries to stay within the capacity. If
    /// the capacity is exceeded, the result contains no offsets.
    pub(super) fn pack(
        &self,
        memory: usize,
        members: &[usize],
        effort: Effort<'_>,
    ) -> Result<Packed, PlanError> {
        if members.is_empty() {
            return Ok(Packed::default());
        }
        let own = members.iter().map(|&one| self.problem.buffers()[one].buffer.clone());
        let problem = IntervalProblem::new(own.collect::<Vec<Buffer>>())?;
        let Effort { rounds, budget, threads, seed, monitor } = effort;
        let capacity = self.memories()[memory].capacity;
        let capacity = capacity.filter(|_| self.memories()[memory].cost == 0);
        let options = Options { capacity, rounds, budget, threads, seed, ..Options::default() };
        // Packing needs its own monitor because the caller's monitor reports on the plan for all
        // memories. If the caller stops the planner, no further memory is packed.
        let own = Monitor::new();
        if monitor.is_cancelled() {
            own.cancel();
        }
        let outcome = problem.solve_watched(&options, &own);
        monitor.add_steps(own.steps());
        let none = |peak, least| Packed { offsets: vec![0; members.len()], peak, least };
        match outcome {
            Ok(plan) => {
                let (peak, least) = (plan.certificate.peak, plan.certificate.searched_bound);
                Ok(Packed { offsets: plan.offsets, peak, least })
            }
            Err(PlanError::Infeasible { bound, .. }) => Ok(none(bound, bound)),
            Err(PlanError::ProvedInfeasible { best, .. }) => Ok(none(best, best)),
            Err(PlanError::NotFound { bound, best, .. }) => Ok(none(best, bound)),
            Err(error) => Err(error),
        }
    }

    /// Packs all memories, given an assignment of buffers to memories.
    pub(super) fn pack_all(
        &self,
        memory_of: &[usize],
        effort: Effort<'_>,
    ) -> Result<Standing, PlanError> {
        let mut members = vec![Vec::new(); self.memories().len()];
        for (buffer, &memory) in memory_of.iter().enumerate() {
            members[memory].push(buffer);
        }
        let mut placements: Vec<Placement> =
            memory_of.iter().map(|&memory| Placement { memory, offset: 0 }).collect();
        let mut peaks = Vec::with_capacity(members.len());
        for (memory, own) in members.iter().enumerate() {
            let packed = self.pack(memory, own, effort)?;
            for (&buffer, offset) in own.iter().zip(packed.offsets) {
                placements[buffer].offset = offset;
            }
            peaks.push(packed.peak);
        }
        Ok(self.standing(placements, peaks))
    }

    /// Returns a plan together with its cost.
    pub(super) fn standing(&self, placements: Vec<Placement>, peaks: Vec<u64>) -> Standing {
        let held = self.memories().iter().zip(&peaks).map(|(memory, peak)| memory.cost * peak);
        let traffic =
            placements.iter().enumerate().map(|(buffer, at)| self.traffic(buffer, at.memory));
        let cost = held.sum::<u64>() + traffic.sum::<u64>();
        Standing { placements, peaks, cost }
    }

    /// Returns the total number of bytes by which a plan exceeds the capacities of its memories.
    pub(super) fn excess(&self, peaks: &[u64]) -> u64 {
        let over = self.memories().iter().zip(peaks).map(|(memory, &peak)| {
            memory.capacity.map_or(0, |capacity| peak.saturating_sub(capacity))
        });
        over.sum()
    }
}
