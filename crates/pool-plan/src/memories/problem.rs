//! Planning problems with several memories, and the conditions that their plans must satisfy.

use std::collections::HashMap;

use crate::error::PlanError;
use crate::limits;
use crate::memory::{Memory, MemoryBuffer, Placement};
use crate::validate::memories as validate;
use crate::violation::Violation;

use super::plan::{MemoryCertificate, MemoryPlan};

/// The problem of placing buffers with known lifetimes in several memories. A plan places each
/// buffer in one of the memories. Two buffers may share bytes if they are never live at the same
/// time.
///
/// A plan's cost is the total cost of its memories plus the total cost of its buffers. A memory's
/// cost is its cost per byte multiplied by the end offset of its highest buffer. A buffer's cost is
/// its traffic multiplied by the traffic cost of the buffer's memory.
///
/// ```
/// use pool_plan::{Buffer, Memory, MemoryBuffer, MemoryProblem, Options};
///
/// let sram = Memory { capacity: Some(64), traffic_cost: 1, ..Memory::new("sram") };
/// let psram = Memory { traffic_cost: 10, ..Memory::new("psram") };
/// let problem = MemoryProblem::new(
///     vec![sram, psram],
///     vec![
///         MemoryBuffer::new(Buffer::new("weights", 0, 4, 96), [0, 1]),
///         MemoryBuffer::new(Buffer::new("input", 0, 2, 64), [0, 1]),
///         MemoryBuffer::new(Buffer::new("output", 2, 4, 64), [0, 1]),
///     ],
/// )?;
/// let plan = problem.solve(&Options::default())?;
/// let memories: Vec<usize> = plan.placements.iter().map(|one| one.memory).collect();
/// assert_eq!(memories, [1, 0, 0]);
/// assert_eq!(plan.certificate.peaks, [64, 96]);
/// // The validator checks the placements, the cost, and the prices that prove the bound.
/// assert_eq!(problem.validate(&plan), Ok(64 + 96 + 2 * 64 + 10 * 96));
/// # Ok::<(), pool_plan::PlanError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(try_from = "file::ProblemFile", into = "file::ProblemFile"))]
pub struct MemoryProblem {
    memories: Vec<Memory>,
    buffers: Vec<MemoryBuffer>,
}

impl MemoryProblem {
    /// The maximum number of memories in a problem.
    pub const MOST_MEMORIES: usize = 64;

    /// Creates the problem of placing `buffers` in `memories`.
    ///
    /// # Errors
    /// Returns the same errors as [`IntervalProblem::new`](crate::IntervalProblem::new). Fails if
    /// there are no memories, if there are more memories than
    /// [`MOST_MEMORIES`](Self::MOST_MEMORIES), or if two memories have the same name. Fails if a
    /// buffer permits no memory, lists the same memory twice, or refers to a nonexistent memory.
    /// Fails if a buffer is fixed in a memory that it does not permit, or has a fixed offset but
    /// permits several memories. Fails if a plan could cost more than `i64::MAX`.
    pub fn new(memories: Vec<Memory>, buffers: Vec<MemoryBuffer>) -> Result<Self, PlanError> {
        check_memories(&memories)?;
        let gaps = buffers.iter().map(|one| one.buffer.gaps.len());
        limits::check_intervals(buffers.len(), gaps)?;
        limits::check(buffers.iter().map(|one| limits::Request {
            id: &one.buffer.id,
            size: one.buffer.size,
            alignment: one.buffer.alignment,
            offset: one.buffer.offset,
        }))?;
        for (index, one) in buffers.iter().enumerate() {
            one.buffer.check(index)?;
            check_choices(index, one, memories.len())?;
        }
        check_costs(&memories, &buffers)?;
        validate::check_fixed(&memories, &buffers).map_err(PlanError::FixedOverlap)?;
        Ok(Self { memories, buffers })
    }

    /// Checks a plan and returns its cost. This function checks the placements against the
    /// lifetimes, memories, and capacities. This function also checks the stated cost, the stated
    /// peaks, and the bound implied by the prices.
    ///
    /// # Errors
    /// Returns the first violation of the problem's constraints or of the certificate.
    pub fn validate(&self, plan: &MemoryPlan) -> Result<u64, Violation> {
        let MemoryCertificate { cost, bound, ref prices, ref peaks, .. } = plan.certificate;
        let found = self.cost(&plan.placements)?;
        let held = validate::peaks(&self.memories, &self.buffers, &plan.placements)?;
        if found != cost || &held != peaks {
            return Err(Violation::WrongCost { stated: cost, found });
        }
        let proved = validate::bound(&self.memories, &self.buffers, prices)?;
        if proved != bound || bound > cost {
            return Err(Violation::WrongBound { stated: bound, found: proved });
        }
        Ok(cost)
    }

    /// Returns the cost of a plan that places buffer `i` at `placements[i]`.
    ///
    /// # Errors
    /// Returns the first violation that the validator finds. It is a violation if a buffer is
    /// placed outside its permitted memories, or if a memory's capacity is exceeded. It is also a
    /// violation if a memory's plan is not valid for an
    /// [`IntervalProblem`](crate::IntervalProblem).
    pub fn cost(&self, placements: &[Placement]) -> Result<u64, Violation> {
        let peaks = validate::peaks(&self.memories, &self.buffers, placements)?;
        Ok(validate::cost(&self.memories, &self.buffers, placements, &peaks))
    }

    /// Returns the memories.
    #[must_use]
    pub fn memories(&self) -> &[Memory] {
        &self.memories
    }

    /// Returns the buffers. A plan's placements are in the same order as the returned slice.
    #[must_use]
    pub fn buffers(&self) -> &[MemoryBuffer] {
        &self.buffers
    }
}

fn check_memories(memories: &[Memory]) -> Result<(), PlanError> {
    if memories.is_empty() {
        return Err(PlanError::NoMemories);
    }
    limits::at_most("memories", memories.len(), MemoryProblem::MOST_MEMORIES)?;
    let mut first_of = HashMap::new();
    for (second, memory) in memories.iter().enumerate() {
        if let Some(first) = first_of.insert(&memory.name, second) {
            return Err(PlanError::DuplicateMemory { name: memory.name.clone(), first, second });
        }
    }
    Ok(())
}

/// Returns an error if a buffer's list of permitted memories is empty or invalid.
fn check_choices(index: usize, one: &MemoryBuffer, count: usize) -> Result<(), PlanError> {
    let id = || limits::label(&one.buffer.id, index);
    let bad = |what| Err(PlanError::BadMemories { id: id(), what });
    let mut seen = 0_u64;
    for &memory in one.memories.iter().chain(&one.memory) {
        if memory >= count {
            let (id, memory) = (id(), memory.to_string());
            return Err(PlanError::UnknownMemory { id, memory });
        }
    }
    for &memory in &one.memories {
        if seen >> memory & 1 == 1 {
            return bad("the list of its memories contains a memory twice");
        }
        seen |= 1 << memory;
    }
    if one.memories.is_empty() {
        return bad("the list of its memories is empty");
    }
    if one.memory.is_some_and(|memory| !one.memories.contains(&memory)) {
        return bad("its fixed memory is not in the list of its memories");
    }
    if one.buffer.offset.is_some() && one.choices().len() > 1 {
        return bad("a buffer with a fixed offset must have exactly one memory");
    }
    Ok(())
}

/// Returns an error if a sum of costs could overflow in the solver. The sums of sizes have already
/// been checked.
fn check_costs(memories: &[Memory], buffers: &[MemoryBuffer]) -> Result<(), PlanError> {
    let padded = buffers.iter().map(|one| one.buffer.size + (one.buffer.alignment - 1));
    // For each memory, the end of the highest buffer that is fixed in that memory. In the worst
    // case, all remaining buffers of a memory lie above its fixed buffers.
    let mut fixed = vec![0_u64; memories.len()];
    for one in buffers {
        if let (&[memory], Some(offset)) = (one.choices(), one.buffer.offset) {
            fixed[memory] = fixed[memory].max(offset + one.buffer.size);
        }
    }
    let held = u128::from(padded.sum::<u64>()) + fixed.into_iter().map(u128::from).sum::<u128>();
    let traffic: u128 = buffers.iter().map(|one| u128::from(one.traffic)).sum();
    let dearest = |cost: fn(&Memory) -> u64| memories.iter().max_by_key(|memory| cost(memory));
    let mut sum = 0_u128;
    for (memory, cost, amount) in [
        (dearest(|one| one.cost), (|one| one.cost) as fn(&Memory) -> u64, held),
        (dearest(|one| one.traffic_cost), |one| one.traffic_cost, traffic),
    ] {
        let Some(memory) = memory else { continue };
        sum = sum.saturating_add(u128::from(cost(memory)).saturating_mul(amount));
        if sum > i64::MAX as u128 {
            let amount = u64::try_from(amount).unwrap_or(u64::MAX);
            let (name, cost) = (memory.name.clone(), cost(memory));
            return Err(PlanError::CostOverflow { memory: name, cost, amount });
        }
    }
    Ok(())
}

#[cfg(feature = "serde")]
mod file {
    //! The format of a file that contains a problem. A problem file extends the format of an
    //! interval problem with the `memories` key. Buffers refer to memories by name.

    use std::collections::HashMap;

    use super::MemoryProblem;
    use crate::buffer::{Buffer, Gap};
    use crate::error::{PlanError, error_chain};
    use crate::memory::{Memory, MemoryBuffer};

    /// The contents of a problem file before validation.
    #[derive(serde::Deserialize, serde::Serialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct ProblemFile {
        memories: Vec<Memory>,
        #[serde(deserialize_with = "crate::lists::buffers")]
        buffers: Vec<BufferFile>,
    }

    /// A buffer in a problem file. A buffer that lists no memories may be placed in any memory.
    #[derive(serde::Deserialize, serde::Serialize)]
    #[serde(deny_unknown_fields)]
    struct BufferFile {
        id: String,
        lower: i64,
        upper: i64,
        size: u64,
        #[serde(default = "crate::limits::unaligned")]
        alignment: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offset: Option<u64>,
        #[serde(
            default,
            skip_serializing_if = "Vec::is_empty",
            deserialize_with = "crate::lists::gaps"
        )]
        gaps: Vec<Gap>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memories: Option<Vec<String>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        traffic: Option<u64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memory: Option<String>,
    }

    impl MemoryProblem {
        /// Deserializes a problem and passes its memories and buffers to a closure that may change
        /// them before they are validated. For example, the closure may limit the capacity of a
        /// memory, increase alignments, or remove fixed offsets.
        ///
        /// # Errors
        /// Fails if the input is not a serialized problem, or if [`new`](Self::new) rejects the
        /// modified memories or buffers.
        pub fn deserialize_with<'de, D: serde::Deserializer<'de>>(
            from: D,
            change: impl FnOnce(&mut [Memory], &mut [MemoryBuffer]),
        ) -> Result<Self, D::Error> {
            let file = <ProblemFile as serde::Deserialize>::deserialize(from)?;
            let problem = file.parts().and_then(|(mut memories, mut buffers)| {
                change(&mut memories, &mut buffers);
                Self::new(memories, buffers)
            });
            problem.map_err(|error| serde::de::Error::custom(error_chain(&error)))
        }
    }

    impl ProblemFile {
        fn parts(self) -> Result<(Vec<Memory>, Vec<MemoryBuffer>), PlanError> {
            let Self { memories, buffers } = self;
            let mut index_of: HashMap<&str, usize> = HashMap::new();
            for (index, memory) in memories.iter().enumerate() {
                index_of.entry(&memory.name).or_insert(index);
            }
            let index = |id: &str, name: &str| {
                let unknown = || PlanError::UnknownMemory { id: id.into(), memory: name.into() };
                index_of.get(name).copied().ok_or_else(unknown)
            };
            let buffer = |one: BufferFile| {
                let memory = one.memory.as_deref().map(|name| index(&one.id, name)).transpose()?;
                let named = one.memories.map(|names| {
                    names.iter().map(|name| index(&one.id, name)).collect::<Result<Vec<_>, _>>()
                });
                let allowed = named.transpose()?.unwrap_or_else(|| (0..memories.len()).collect());
                let BufferFile { id, lower, upper, size, alignment, offset, gaps, .. } = one;
                let traffic = one.traffic.unwrap_or(size);
                let buffer = Buffer { id, lower, upper, size, alignment, offset, gaps };
                Ok(MemoryBuffer { buffer, memories: allowed, traffic, memory })
            };
            let buffers = buffers.into_iter().map(buffer).collect::<Result<Vec<_>, PlanError>>()?;
            Ok((memories, buffers))
        }
    }

    impl TryFrom<ProblemFile> for MemoryProblem {
        /// This type's error text includes all of the error's sources because a serde format can
        /// report an error only as text.
        type Error = String;

        fn try_from(file: ProblemFile) -> Result<Self, String> {
            let problem = file.parts().and_then(|(memories, buffers)| Self::new(memories, buffers));
            problem.map_err(|error| error_chain(&error))
        }
    }

    impl From<MemoryProblem> for ProblemFile {
        fn from(problem: MemoryProblem) -> Self {
            let MemoryProblem { memories, buffers } = problem;
            let name = |&memory: &usize| memories[memory].name.clone();
            let buffers = buffers.iter().map(|one| {
                let Buffer { id, lower, upper, size, alignment, offset, gaps } = one.buffer.clone();
                let is_whole = one.memories.iter().copied().eq(0..memories.len());
                let allowed = (!is_whole).then(|| one.memories.iter().map(name).collect());
                let traffic = Some(one.traffic).filter(|&traffic| traffic != size);
                let memory = one.memory.as_ref().map(name);
                BufferFile {
                    id,
                    lower,
                    upper,
                    size,
                    alignment,
                    offset,
                    gaps,
                    memories: allowed,
                    traffic,
                    memory,
                }
            });
            let buffers = buffers.collect();
            Self { memories, buffers }
        }
    }
}
