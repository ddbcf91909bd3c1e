//! Local search over assignments of buffers to memories. A move assigns a buffer to a different
//! memory or swaps the memories of two buffers. An assignment's cost is estimated from the live
//! bytes in each memory.

use crate::random::Random;
use crate::work::Limit;

use super::instance::Instance;
use super::loads::Loads;

/// The number of moves between two consecutive clock checks.
const MOVES_A_LOOK: usize = 256;

/// An assignment of buffers to memories, along with each memory's live bytes.
pub(super) struct Assignment<'a> {
    instance: &'a Instance<'a>,
    pub(super) memory_of: Vec<usize>,
    loads: Vec<Loads>,
    traffic: u64,
    /// The maximum number of live bytes allowed in each memory. The limit is the memory's capacity,
    /// or a lower value if the packing needs a margin.
    caps: Vec<Option<u64>>,
    /// The buffers that may be placed in more than one memory.
    movable: Vec<usize>,
}

/// The key for comparing assignments. The key consists of the total number of bytes beyond the
/// capacities, followed by the cost.
type Badness = (u64, u64);

impl<'a> Assignment<'a> {
    /// Creates an assignment with the given limits on each memory's live bytes.
    pub(super) fn new(
        instance: &'a Instance<'a>,
        memory_of: Vec<usize>,
        caps: Vec<Option<u64>>,
    ) -> Self {
        let empty = Loads::new(instance.times.len());
        let loads = vec![empty; instance.memories().len()];
        let movable =
            (0..instance.len()).filter(|&buffer| instance.choices(buffer).len() > 1).collect();
        let mut assignment = Self { instance, memory_of, loads, traffic: 0, caps, movable };
        for buffer in 0..instance.len() {
            assignment.count(buffer, 1);
        }
        assignment
    }

    /// Creates a greedy assignment. The buffers are assigned in descending order of size, each to
    /// the memory that gives the best assignment.
    // Uncounted: the loop needs no counter because the function makes only one pass over the
    // buffers. This function runs before the planner computes its first plan.
    pub(super) fn greedy(instance: &'a Instance<'a>, caps: Vec<Option<u64>>) -> Self {
        let memory_of: Vec<usize> =
            (0..instance.len()).map(|buffer| instance.choices(buffer)[0]).collect();
        let mut assignment = Self::new(instance, memory_of, caps);
        let movable = assignment.movable.clone();
        for &buffer in &movable {
            assignment.count(buffer, -1);
        }
        let mut order = movable;
        order.sort_by_key(|&buffer| std::cmp::Reverse(instance.size(buffer)));
        for buffer in order {
            let mut best = None;
            for &memory in instance.choices(buffer) {
                assignment.memory_of[buffer] = memory;
                assignment.count(buffer, 1);
                let badness = assignment.badness();
                assignment.count(buffer, -1);
                if best.is_none_or(|(least, _)| badness < least) {
                    best = Some((badness, memory));
                }
            }
            if let Some((_, memory)) = best {
                assignment.memory_of[buffer] = memory;
            }
            assignment.count(buffer, 1);
        }
        assignment
    }

    /// Moves buffers at random, and then restores the best assignment found.
    pub(super) fn improve(&mut self, moves: usize, random: &mut Random, limit: Limit<'_>) {
        if self.movable.is_empty() {
            return;
        }
        let mut current = self.badness();
        let mut best = current;
        // The moves made since the best assignment was found. Each entry contains a buffer and its
        // memory before the move.
        let mut moved: Vec<(usize, usize)> = Vec::new();
        for turn in 0..moves {
            if turn % MOVES_A_LOOK == 0 && limit.is_reached() {
                break;
            }
            let before = moved.len();
            self.try_move(random, &mut moved);
            let next = self.badness();
            // As the search proceeds, the increases in cost that it accepts become smaller and
            // smaller.
            let left = (moves - turn) as u64;
            let slack = current.1 / 64 * left / moves as u64;
            let is_kept = next.0 <= current.0 && (next.0 < current.0 || next.1 <= current.1)
                || (next.0 <= current.0
                    && random.below(4) == 0
                    && next.1 <= current.1.saturating_add(slack));
            if is_kept {
                current = next;
                if next < best {
                    best = next;
                    moved.clear();
                }
            } else {
                self.take_back(&mut moved, before);
            }
        }
        self.take_back(&mut moved, 0);
    }

    /// Moves a random buffer to a different memory, and sometimes moves a second buffer in the
    /// opposite direction.
    fn try_move(&mut self, random: &mut Random, moved: &mut Vec<(usize, usize)>) {
        let buffer = self.movable[random.below(self.movable.len())];
        let from = self.memory_of[buffer];
        let choices = self.instance.choices(buffer);
        let to = choices[random.below(choices.len())];
        if to == from {
            return;
        }
        self.shift(buffer, to, moved);
        if random.below(2) == 0 {
            return;
        }
        for _ in 0..4 {
            let other = self.movable[random.below(self.movable.len())];
            let fits = self.memory_of[other] == to && self.instance.choices(other).contains(&from);
            if other != buffer && fits {
                self.shift(other, from, moved);
                return;
            }
        }
    }

    fn shift(&mut self, buffer: usize, to: usize, moved: &mut Vec<(usize, usize)>) {
        moved.push((buffer, self.memory_of[buffer]));
        self.assign(buffer, to);
    }

    fn assign(&mut self, buffer: usize, to: usize) {
        self.count(buffer, -1);
        self.memory_of[buffer] = to;
        self.count(buffer, 1);
    }

    /// Reverts all but the first `keep` moves.
    fn take_back(&mut self, moved: &mut Vec<(usize, usize)>, keep: usize) {
        for (buffer, from) in moved.drain(keep..).rev() {
            self.assign(buffer, from);
        }
    }

    /// Adds a buffer's bytes and traffic to the totals, or subtracts them if `sign` is negative.
    fn count(&mut self, buffer: usize, sign: i64) {
        let memory = self.memory_of[buffer];
        // The sum of all sizes fits in an `i64`, and so does each size.
        let size = i64::try_from(self.instance.size(buffer)).unwrap_or(i64::MAX);
        for &span in self.instance.spans(buffer) {
            self.loads[memory].add(span, sign * size);
        }
        let traffic = self.instance.traffic(buffer, memory);
        self.traffic = match sign {
            1 => self.traffic + traffic,
            _ => self.traffic - traffic,
        };
    }

    fn badness(&self) -> Badness {
        let (mut excess, mut cost) = (0, self.traffic);
        for (index, (memory, loads)) in self.instance.memories().iter().zip(&self.loads).enumerate()
        {
            let most = loads.most().max(self.instance.floors[index]);
            excess += self.caps[index].map_or(0, |cap| most.saturating_sub(cap));
            cost += memory.cost * most;
        }
        (excess, cost)
    }
}
