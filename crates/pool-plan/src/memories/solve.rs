//! The solver for problems with several memories. The solver computes greedy plans and a lower
//! bound, and then runs rounds of search until the budget runs out.

use std::time::{Duration, Instant};

use crate::error::PlanError;
use crate::memory::Price;
use crate::options::{Monitor, Options};
use crate::random::Random;
use crate::work::{Limit, Watch};

use super::exhaustive::{self, Search};
use super::greedy::{self, ORDERS, RULES, Rule};
use super::instance::Instance;
use super::packing::{Effort, Standing};
use super::plan::{MemoryCertificate, MemoryPlan};
use super::prices::{self, Proof};
use super::problem::MemoryProblem;
use super::search::Assignment;

/// The maximum number of memories for which the solver checks the capacity of every set of
/// memories. If there are more memories, the solver checks only single memories and the set of all
/// memories.
const MOST_IN_SETS: usize = 10;
/// The number of steps that the exhaustive search may take for each round that the options permit.
const STEPS_A_ROUND: u64 = 50_000;
/// The number of rounds that the planner may use to pack one memory during the exhaustive search.
const PACK_ROUNDS: u32 = 8;
/// The number of rounds of local search before the exhaustive search.
const FIRST_ROUNDS: u32 = 2;
/// The number of moves per buffer in a round, followed by the minimum and maximum number of moves
/// in a round.
const MOVES: [usize; 3] = [200, 2_000, 400_000];
/// The number of passes for a round's joint greedy plans, followed by the minimum and maximum
/// number of these plans. The joint greedy plans use slightly different orders.
const REORDERED: [usize; 3] = [20_000_000, 4, 400];
/// The maximum number of times that a round lowers the memories' limits. A limit is lowered if a
/// memory could not be packed within its capacity.
const TIGHTENINGS: u32 = 6;

impl MemoryProblem {
    /// Returns the cheapest plan that the solver finds within the budget.
    ///
    /// # Errors
    /// Returns [`PlanError::MemoriesTooSmall`] or [`PlanError::Unassigned`] if no plan fits within
    /// all capacities, or if no such plan was found within the budget. Returns
    /// [`PlanError::OneCapacity`] if the options set a capacity, and [`PlanError::BadTolerance`] if
    /// the tolerance is not a ratio of at least 1.
    pub fn solve(&self, options: &Options) -> Result<MemoryPlan, PlanError> {
        self.solve_watched(options, &Monitor::new())
    }

    /// Returns the same plan as [`solve`](Self::solve). Another thread may observe and stop the
    /// planner through `monitor`, which reports costs instead of bytes.
    ///
    /// # Errors
    /// Returns the same errors as [`solve`](Self::solve).
    pub fn solve_watched(
        &self,
        options: &Options,
        monitor: &Monitor,
    ) -> Result<MemoryPlan, PlanError> {
        let start = Instant::now();
        options.check()?;
        if let Some(capacity) = options.capacity {
            return Err(PlanError::OneCapacity { capacity });
        }
        let instance = Instance::new(self);
        check_room(&instance)?;
        let deadline = start.checked_add(options.budget);
        let limit = Limit { deadline, monitor };
        let mut solver = Solver {
            instance: &instance,
            options,
            limit,
            best: None,
            best_order: None,
            proof: Proof::default(),
            searched: None,
        };
        solver.begin()?;
        solver.search()?;
        solver.finish()
    }
}

/// Returns an error if the buffers that are live at the same time need more than the total capacity
/// of their permitted memories.
// Uncounted: the loop needs no counter because the function makes only a few passes over the
// buffers for each set of memories. This function runs before the planner computes its first plan.
fn check_room(instance: &Instance<'_>) -> Result<(), PlanError> {
    let memories = instance.memories();
    let mut sets: Vec<u64> = if memories.len() <= MOST_IN_SETS {
        (1..1 << memories.len()).collect()
    } else {
        let all = u64::MAX >> (64 - memories.len());
        (0..memories.len()).map(|memory| 1 << memory).chain([all]).collect()
    };
    // The error is clearest for the smallest set of memories that is too small.
    sets.sort_by_key(|set| set.count_ones());
    for set in sets {
        let members = || (0..memories.len()).filter(|memory| set >> memory & 1 == 1);
        let capacity = members().map(|memory| memories[memory].capacity);
        let Some(capacity) = capacity.collect::<Option<Vec<u64>>>() else { continue };
        let capacity = capacity.into_iter().fold(0, u64::saturating_add);
        let is_in =
            |buffer: &usize| instance.choices(*buffer).iter().all(|memory| set >> memory & 1 == 1);
        let bound: Vec<usize> = (0..instance.len()).filter(is_in).collect();
        let Some((section, bytes)) = heaviest(instance, &bound).filter(|one| one.1 > capacity)
        else {
            continue;
        };
        let is_live = |&buffer: &usize| {
            let mut spans = instance.spans(buffer).iter();
            spans.any(|span| span.0 as usize <= section && section < span.1 as usize)
        };
        return Err(PlanError::MemoriesTooSmall {
            memories: members().collect(),
            capacity,
            bound: bytes,
            time: instance.times[section],
            witness: bound.into_iter().filter(is_live).collect(),
        });
    }
    Ok(())
}

/// Returns the section in which the given buffers have the most live bytes, along with the number
/// of these bytes.
fn heaviest(instance: &Instance<'_>, buffers: &[usize]) -> Option<(usize, u64)> {
    let mut begun = vec![0_i128; instance.times.len() + 1];
    for &buffer in buffers {
        for &(lower, upper) in instance.spans(buffer) {
            begun[lower as usize] += i128::from(instance.size(buffer));
            begun[upper as usize] -= i128::from(instance.size(buffer));
        }
    }
    let mut sum = 0;
    let sums = begun.into_iter().take(instance.times.len()).map(|bytes| {
        sum += bytes;
        u64::try_from(sum).unwrap_or(0)
    });
    // If several sections are tied, the function selects the first one.
    sums.enumerate().max_by_key(|&(section, bytes)| (bytes, std::cmp::Reverse(section)))
}

/// The state of the solver.
struct Solver<'a> {
    instance: &'a Instance<'a>,
    options: &'a Options,
    limit: Limit<'a>,
    best: Option<Standing>,
    /// The cost of the best joint greedy plan, along with the order and rule that produced the
    /// plan.
    best_order: Option<(u64, Vec<usize>, Rule)>,
    proof: Proof,
    /// The lower bound on the cost proved by the exhaustive search.
    searched: Option<u64>,
}

impl<'a> Solver<'a> {
    /// Computes the greedy plans and the lower bound. The first greedy plan is always completed,
    /// even if the budget has run out.
    fn begin(&mut self) -> Result<(), PlanError> {
        let limit = self.limit;
        if self.instance.len() <= greedy::MOST_BUFFERS {
            let mut is_first = true;
            for order in ORDERS {
                let order = greedy::ordered(self.instance, order);
                for rule in RULES {
                    let goes_on = || !limit.is_reached();
                    let always = || true;
                    let watch = if is_first { Watch::new(&always) } else { Watch::new(&goes_on) };
                    is_first = false;
                    self.try_order(&order, rule, &watch);
                }
            }
        }
        if self.best.is_none() || self.instance.len() > greedy::MOST_BUFFERS {
            self.assign_greedily()?;
        }
        let cost = self.best.as_ref().map(|best| best.cost);
        self.proof = prices::proof(self.instance, cost, self.limit);
        self.limit.monitor.set_bound(self.proof.bound);
        Ok(())
    }

    /// Places the buffers in the given order. The function keeps the plan if it is the best so far.
    /// If the order is the best so far, the function retains it and returns `true`.
    fn try_order(&mut self, order: &[usize], rule: Rule, watch: &Watch<'_>) -> bool {
        let Some(plan) = greedy::place(self.instance, order, rule, watch) else { return false };
        let cost = plan.cost;
        self.offer(plan);
        // An order that is as good as the best one is also kept, so that the search does not stall.
        let is_best = self.best_order.as_ref().is_none_or(|best| cost <= best.0);
        if is_best {
            self.best_order = Some((cost, order.to_vec(), rule));
        }
        is_best
    }

    /// Repeatedly changes the positions of one or two buffers in the best order.
    fn reorder(&mut self, random: &mut Random) {
        let [passes, least, most] = REORDERED;
        let count = self.instance.len();
        let Some((_, mut order, rule)) = self.best_order.clone().filter(|_| count > 1) else {
            return;
        };
        let limit = self.limit;
        let goes_on = || !limit.is_reached();
        let watch = Watch::new(&goes_on);
        for _ in 0..(passes / (count * count)).clamp(least, most) {
            let before = order.clone();
            for _ in 0..=random.below(2) {
                let moved = order.remove(random.below(count));
                order.insert(random.below(count), moved);
            }
            if !watch.count(count) {
                return;
            }
            if !self.try_order(&order, rule, &watch) {
                order = before;
            }
        }
    }

    /// Assigns all buffers to memories based only on the live bytes, and then packs each memory.
    fn assign_greedily(&mut self) -> Result<(), PlanError> {
        let mut caps = self.capacities();
        for _ in 0..TIGHTENINGS {
            let assignment = Assignment::greedy(self.instance, caps.clone());
            let effort = self.effort(Some(0), 0);
            let plan = self.instance.pack_all(&assignment.memory_of, effort)?;
            let peaks = plan.peaks.clone();
            self.offer(plan);
            if self.best.is_some() {
                break;
            }
            self.tighten(&mut caps, &peaks);
        }
        Ok(())
    }

    /// Lowers the limits of all memories whose peaks exceeded their capacities. Each limit is
    /// lowered by the excess or by an eighth of the limit, whichever is larger.
    fn tighten(&self, caps: &mut [Option<u64>], peaks: &[u64]) {
        for ((cap, peak), memory) in caps.iter_mut().zip(peaks).zip(self.instance.memories()) {
            let over = memory.capacity.map_or(0, |capacity| peak.saturating_sub(capacity));
            if over > 0 {
                *cap = cap.map(|cap| cap.saturating_sub(over).min(cap - cap / 8));
            }
        }
    }

    /// Runs the rounds of local search. In one of the rounds, the exhaustive search runs as well.
    fn search(&mut self) -> Result<(), PlanError> {
        let most = self.options.rounds.unwrap_or(u32::MAX);
        let mut round = 0;
        while round < most && !self.is_done() {
            if round == FIRST_ROUNDS.min(most - 1)
                && self.instance.len() <= exhaustive::MOST_BUFFERS
            {
                self.exhaust()?;
                if self.is_done() {
                    return Ok(());
                }
            }
            self.improve(round)?;
            round += 1;
        }
        Ok(())
    }

    /// Tries all assignments until the budget runs out.
    fn exhaust(&mut self) -> Result<(), PlanError> {
        let (deadline, steps) = match self.options.rounds {
            Some(rounds) => (self.limit.deadline, STEPS_A_ROUND.saturating_mul(rounds.into())),
            // Half of the remaining time is reserved for the local search.
            None => {
                let left = self.time_left() / 2;
                (self.limit.deadline.and_then(|end| end.checked_sub(left)), u64::MAX)
            }
        };
        let limit = Limit { deadline, monitor: self.limit.monitor };
        let effort = Effort { threads: 1, ..self.effort(Some(PACK_ROUNDS), 0) };
        let best = self.best.take();
        let mut search = Search::new(self.instance, &self.proof, best, effort, limit, steps);
        let least = search.run()?;
        self.best = search.best;
        if let Some(least) = least {
            self.searched = Some(least);
        }
        Ok(())
    }

    /// Improves either the best plan's assignment or a new one, and then packs each memory.
    fn improve(&mut self, round: u32) -> Result<(), PlanError> {
        let [per_buffer, least, most] = MOVES;
        let moves = (per_buffer * self.instance.len()).clamp(least, most);
        let mut random = Random::new(self.options.seed, u64::from(round), 0);
        self.reorder(&mut random);
        let mut caps = self.capacities();
        for turn in 0..TIGHTENINGS {
            let mut assignment = match (&self.best, (round + turn) % 3) {
                (Some(best), 0) => {
                    let memory_of = best.placements.iter().map(|one| one.memory).collect();
                    Assignment::new(self.instance, memory_of, caps.clone())
                }
                (_, 1) => {
                    let memory_of = self.proof.cheapest(self.instance);
                    Assignment::new(self.instance, memory_of, caps.clone())
                }
                _ => Assignment::greedy(self.instance, caps.clone()),
            };
            assignment.improve(moves, &mut random, self.limit);
            let effort = self.effort(Some(round.saturating_add(1)), u64::from(round));
            let plan = self.instance.pack_all(&assignment.memory_of, effort)?;
            let peaks = plan.peaks.clone();
            self.offer(plan);
            if self.instance.excess(&peaks) == 0 || self.limit.is_reached() {
                break;
            }
            self.tighten(&mut caps, &peaks);
        }
        Ok(())
    }

    /// Keeps a plan if it fits within all capacities and is cheaper than all earlier plans.
    fn offer(&mut self, plan: Standing) {
        let is_within = self.instance.excess(&plan.peaks) == 0;
        if is_within && self.best.as_ref().is_none_or(|best| plan.cost < best.cost) {
            self.limit.monitor.set_best(plan.cost);
            self.best = Some(plan);
        }
    }

    fn is_done(&self) -> bool {
        let cost = self.best.as_ref().map_or(u64::MAX, |best| best.cost);
        let target = self.options.target(self.proof.bound);
        let is_searched = self.searched.is_some_and(|least| least >= cost);
        is_searched || cost <= target || self.limit.is_reached()
    }

    fn capacities(&self) -> Vec<Option<u64>> {
        self.instance.memories().iter().map(|memory| memory.capacity).collect()
    }

    fn time_left(&self) -> Duration {
        let left = self.limit.deadline.map(|end| end.saturating_duration_since(Instant::now()));
        left.unwrap_or(Duration::MAX)
    }

    fn effort(&self, rounds: Option<u32>, seed: u64) -> Effort<'a> {
        let Options { threads, seed: given, .. } = *self.options;
        let (budget, monitor) = (self.time_left(), self.limit.monitor);
        Effort { rounds, budget, threads, seed: given ^ seed, monitor }
    }

    /// Returns the plan. In debug builds, the plan must pass the validator.
    fn finish(self) -> Result<MemoryPlan, PlanError> {
        let problem = self.instance.problem;
        let Some(Standing { placements, peaks, cost }) = self.best else {
            let (buffers, memories) = (problem.buffers().len(), problem.memories().len());
            let proved = self.searched == Some(u64::MAX);
            return Err(PlanError::Unassigned { buffers, memories, proved });
        };
        let bound = self.proof.bound;
        let searched_bound = self.searched.unwrap_or(bound).max(bound).min(cost);
        let prices: Vec<Price> = self.proof.prices(self.instance);
        let certificate = MemoryCertificate { peaks, cost, bound, prices, searched_bound };
        let plan = MemoryPlan { placements, certificate };
        if cfg!(debug_assertions) {
            problem.validate(&plan).map_err(PlanError::Rejected)?;
        }
        Ok(plan)
    }
}
