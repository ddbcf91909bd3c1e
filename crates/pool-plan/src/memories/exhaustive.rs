//! An exhaustive depth-first search over the assignments of up to 64 buffers to memories. The
//! search skips a branch if the prices or the live bytes prove that the branch contains no better
//! plan. When an assignment is complete, each of its memories is packed separately. The packing of
//! each set of buffers is cached.

use std::collections::HashMap;

use crate::error::PlanError;
use crate::memory::{Placement, Price};
use crate::work::Limit;

use super::instance::Instance;
use super::packing::{Effort, Packed, Standing};
use super::prices::Proof;

/// The maximum number of buffers that the search supports. The search stores each set of buffers in
/// one 64-bit word.
pub(super) const MOST_BUFFERS: usize = 64;
/// The maximum number of packed memories that the cache stores.
const MOST_KEPT: usize = 200_000;
/// The number of steps between two consecutive clock checks.
const STEPS_A_LOOK: u64 = 64;

/// The state of the search, and the results found so far.
pub(super) struct Search<'a> {
    instance: &'a Instance<'a>,
    proof: &'a Proof,
    effort: Effort<'a>,
    limit: Limit<'a>,
    steps_left: u64,
    /// The buffers, in the order in which the search assigns them.
    order: Vec<usize>,
    /// For each position in the order, the lowest possible total cost of the buffers from that
    /// position onward.
    asked_after: Vec<i128>,
    /// For each memory, an earlier memory that can replace it, if one exists. The earlier memory
    /// has the same capacity and costs, and is allowed for the same buffers.
    twin: Vec<Option<usize>>,
    memory_of: Vec<usize>,
    /// The number of live bytes in each section of each memory.
    loads: Vec<Vec<u64>>,
    sets: Vec<u64>,
    packed: HashMap<(usize, u64), Packed>,
    /// The best plan so far.
    pub(super) best: Option<Standing>,
    /// A lower bound on the cost of every assignment whose memories were not packed optimally.
    least_unproved: u64,
    is_cut_short: bool,
}

impl<'a> Search<'a> {
    /// Creates a search for a plan that is better than `best`. The search ends after a limited
    /// number of steps.
    pub(super) fn new(
        instance: &'a Instance<'a>,
        proof: &'a Proof,
        best: Option<Standing>,
        effort: Effort<'a>,
        limit: Limit<'a>,
        steps: u64,
    ) -> Self {
        let weight = |buffer: usize| {
            let sections: u64 =
                instance.spans(buffer).iter().map(|span| u64::from(span.1 - span.0)).sum();
            u128::from(instance.size(buffer)) * u128::from(sections)
        };
        let mut order: Vec<usize> = (0..instance.len()).collect();
        order.sort_by_key(|&buffer| {
            (instance.choices(buffer).len() > 1, std::cmp::Reverse(weight(buffer)))
        });
        let mut asked_after = vec![0; order.len() + 1];
        for (place, &buffer) in order.iter().enumerate().rev() {
            let least = proof.asked[buffer].iter().min().copied().unwrap_or(0);
            asked_after[place] = asked_after[place + 1] + least;
        }
        let count = instance.memories().len();
        Self {
            instance,
            proof,
            effort,
            limit,
            steps_left: steps,
            order,
            asked_after,
            twin: (0..count).map(|memory| twin(instance, memory)).collect(),
            memory_of: vec![0; instance.len()],
            loads: vec![vec![0; instance.times.len()]; count],
            sets: vec![0; count],
            packed: HashMap::new(),
            best,
            least_unproved: u64::MAX,
            is_cut_short: false,
        }
    }

    /// Runs the search. Returns a lower bound on the cost of every plan, or `u64::MAX` if no plan
    /// exists. Returns `None` if the search is cut short.
    ///
    /// # Errors
    /// Returns the same errors as the planner that packs a single memory.
    pub(super) fn run(&mut self) -> Result<Option<u64>, PlanError> {
        self.descend(0, self.proof.rest, 0)?;
        let best = self.best.as_ref().map_or(u64::MAX, |best| best.cost);
        Ok((!self.is_cut_short).then(|| best.min(self.least_unproved)))
    }

    /// Assigns the buffers that follow a given position in the order.
    fn descend(&mut self, place: usize, asked: i128, traffic: u64) -> Result<(), PlanError> {
        if self.is_over() {
            return Ok(());
        }
        let Some(&buffer) = self.order.get(place) else { return self.finish(traffic) };
        let instance = self.instance;
        let mut choices: Vec<(i128, usize)> = self.proof.asked[buffer]
            .iter()
            .copied()
            .zip(instance.choices(buffer).iter().copied())
            .collect();
        choices.sort_unstable();
        for (ask, memory) in choices {
            // If several empty memories are interchangeable, the search tries only the first one.
            if self.twin[memory].is_some_and(|twin| self.sets[twin] == 0) {
                continue;
            }
            let traffic = traffic + instance.traffic(buffer, memory);
            self.add(buffer, memory);
            let asked = asked + ask;
            if !self.is_hopeless(asked + self.asked_after[place + 1], traffic) {
                self.memory_of[buffer] = memory;
                self.descend(place + 1, asked, traffic)?;
            }
            self.remove(buffer, memory);
        }
        Ok(())
    }

    fn is_over(&mut self) -> bool {
        if self.steps_left == 0 || self.steps_left % STEPS_A_LOOK == 0 && self.limit.is_reached() {
            self.is_cut_short = true;
        }
        self.steps_left = self.steps_left.saturating_sub(1);
        self.is_cut_short
    }

    /// Returns `true` if the current branch cannot contain a better plan.
    fn is_hopeless(&self, asked: i128, traffic: u64) -> bool {
        let mut cost = traffic;
        for (index, memory) in self.instance.memories().iter().enumerate() {
            let most = self.loads[index].iter().max().copied().unwrap_or(0);
            let most = most.max(self.instance.floors[index]);
            if memory.capacity.is_some_and(|capacity| most > capacity) {
                return true;
            }
            cost += memory.cost * most;
        }
        let unit = i128::from(Price::UNIT);
        let priced = (asked + unit - 1).max(0) / unit;
        let best = self.best.as_ref().map_or(u64::MAX, |best| best.cost);
        cost >= best || priced >= i128::from(best)
    }

    /// Packs all memories of a complete assignment.
    fn finish(&mut self, traffic: u64) -> Result<(), PlanError> {
        let (mut cost, mut least) = (traffic, traffic);
        let (mut is_within, mut may_be_within) = (true, true);
        for index in 0..self.instance.memories().len() {
            let memory = &self.instance.memories()[index];
            let packed = self.packed(index)?;
            cost += memory.cost * packed.peak;
            least += memory.cost * packed.least;
            if let Some(capacity) = memory.capacity {
                is_within &= packed.peak <= capacity;
                may_be_within &= packed.least <= capacity;
            }
        }
        if may_be_within && (least < cost || !is_within) {
            self.least_unproved = self.least_unproved.min(least);
        }
        let best = self.best.as_ref().map_or(u64::MAX, |best| best.cost);
        if is_within && cost < best {
            self.best = Some(self.standing()?);
        }
        Ok(())
    }

    /// Packs the buffers assigned to a memory.
    fn packed(&mut self, memory: usize) -> Result<Packed, PlanError> {
        let key = (memory, self.sets[memory]);
        if let Some(packed) = self.packed.get(&key) {
            return Ok(packed.clone());
        }
        let members: Vec<usize> =
            (0..self.instance.len()).filter(|&one| self.sets[memory] >> one & 1 == 1).collect();
        let packed = self.instance.pack(memory, &members, self.effort)?;
        if self.packed.len() < MOST_KEPT {
            self.packed.insert(key, packed.clone());
        }
        Ok(packed)
    }

    fn standing(&mut self) -> Result<Standing, PlanError> {
        let mut placements: Vec<Placement> =
            self.memory_of.iter().map(|&memory| Placement { memory, offset: 0 }).collect();
        let mut peaks = Vec::new();
        for memory in 0..self.instance.memories().len() {
            let packed = self.packed(memory)?;
            let own = placements.iter_mut().filter(|one| one.memory == memory);
            own.zip(packed.offsets).for_each(|(one, offset)| one.offset = offset);
            peaks.push(packed.peak);
        }
        Ok(self.instance.standing(placements, peaks))
    }

    fn add(&mut self, buffer: usize, memory: usize) {
        self.sets[memory] |= 1 << buffer;
        let size = self.instance.size(buffer);
        for &(lower, upper) in self.instance.spans(buffer) {
            let sections = &mut self.loads[memory][lower as usize..upper as usize];
            sections.iter_mut().for_each(|bytes| *bytes += size);
        }
    }

    fn remove(&mut self, buffer: usize, memory: usize) {
        self.sets[memory] &= !(1 << buffer);
        let size = self.instance.size(buffer);
        for &(lower, upper) in self.instance.spans(buffer) {
            let sections = &mut self.loads[memory][lower as usize..upper as usize];
            sections.iter_mut().for_each(|bytes| *bytes -= size);
        }
    }
}

/// Returns an earlier memory that is interchangeable with the given memory in every plan.
fn twin(instance: &Instance<'_>, memory: usize) -> Option<usize> {
    let memories = instance.memories();
    let one = &memories[memory];
    (0..memory).rev().find(|&other| {
        let same = &memories[other];
        let is_equal = (one.capacity, one.cost, one.traffic_cost)
            == (same.capacity, same.cost, same.traffic_cost);
        is_equal
            && (0..instance.len()).all(|buffer| {
                let choices = instance.choices(buffer);
                choices.contains(&memory) == choices.contains(&other)
            })
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests: a check that fails panics")]
mod tests {
    use std::time::Duration;

    use super::Search;
    use crate::buffer::Buffer;
    use crate::memories::MemoryProblem;
    use crate::memories::instance::Instance;
    use crate::memories::packing::Effort;
    use crate::memories::prices;
    use crate::memory::{Memory, MemoryBuffer};
    use crate::options::Monitor;
    use crate::random::Random;
    use crate::work::Limit;

    fn problem(seed: u64) -> MemoryProblem {
        let mut random = Random::new(seed, 0, 0);
        let mut below = |count: usize| random.below(count) as u64;
        let memories = (0..2).map(|index| Memory {
            capacity: Some(12 + below(12)),
            cost: below(3),
            traffic_cost: below(3),
            ..Memory::new(index.to_string())
        });
        let memories = memories.collect();
        let buffers = (0..6).map(|index| {
            let lower = i64::try_from(below(6)).unwrap();
            let upper = lower + 1 + i64::try_from(below(4)).unwrap();
            let buffer = Buffer::new(index.to_string(), lower, upper, 1 + below(9));
            MemoryBuffer { traffic: below(20), ..MemoryBuffer::new(buffer, [0, 1]) }
        });
        MemoryProblem::new(memories, buffers.collect()).unwrap()
    }

    /// The search starts without a plan, so it must find the optimum without help from another
    /// method.
    #[test]
    fn the_search_alone_finds_what_all_assignments_have() {
        let monitor = Monitor::new();
        let budget = Duration::from_secs(60);
        let effort = Effort { rounds: Some(8), budget, threads: 1, seed: 0, monitor: &monitor };
        let limit = Limit { deadline: None, monitor: &monitor };
        for seed in 0..if cfg!(miri) { 1 } else { 60 } {
            let problem = problem(seed);
            let instance = Instance::new(&problem);
            let all = (0..1_usize << 6).filter_map(|set| {
                let memory_of: Vec<usize> = (0..6).map(|buffer| set >> buffer & 1).collect();
                let plan = instance.pack_all(&memory_of, effort).unwrap();
                (instance.excess(&plan.peaks) == 0).then_some(plan.cost)
            });
            let least = all.min();
            let proof = prices::proof(&instance, None, limit);
            assert!(proof.bound <= least.unwrap_or(u64::MAX), "{seed}");
            let mut search = Search::new(&instance, &proof, None, effort, limit, u64::MAX);
            assert_eq!(search.run(), Ok(Some(least.unwrap_or(u64::MAX))), "{seed}");
            assert_eq!(search.best.map(|best| best.cost), least, "{seed}");
        }
    }
}
