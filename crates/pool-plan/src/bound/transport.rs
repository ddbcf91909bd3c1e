//! Computes the maximum flow from each element to later elements. The algorithm finds blocking
//! flows on level graphs (Dinic 1970), without recursion.
//!
//! Each element can both send and receive flow up to its weight. An edge of unlimited capacity
//! leads from each element to every later element. The relation's bits represent the edges, so the
//! lists need to contain only edges that carry flow. Memory use therefore grows with the number of
//! elements rather than with the number of pairs in the relation.

use crate::bits::{BitMatrix, ones};

/// The number of senders that are processed between two consecutive clock checks.
const SENDERS_UNWATCHED: usize = 64;

/// A flow, together with the supply and demand that remain.
#[derive(Debug)]
pub(super) struct Transport<'a> {
    precedes: &'a BitMatrix,
    supply: Vec<u64>,
    demand: Vec<u64>,
    /// The elements that send flow to each receiver, and the amount that each of them sends.
    taken: Vec<Vec<(usize, u64)>>,
}

/// A level graph's levels. The level of a sender or receiver is the number of edge pairs between it
/// and the nearest sender with remaining supply.
struct Levels {
    senders: Vec<usize>,
    /// The receivers on each level, stored as bits.
    receivers: Vec<Vec<u64>>,
    /// The receivers on all levels computed so far, stored as bits.
    met: Vec<u64>,
    /// `true` if a receiver on the last level has remaining demand.
    is_open: bool,
}

impl<'a> Transport<'a> {
    /// Creates an empty flow.
    // Uncounted: the loop needs no counter because the function makes only one pass over the
    // elements.
    pub(super) fn new(precedes: &'a BitMatrix, weights: &[u64]) -> Self {
        let (supply, demand) = (weights.to_vec(), weights.to_vec());
        Self { precedes, supply, demand, taken: vec![Vec::new(); weights.len()] }
    }

    /// Sends as much flow as possible. The loop terminates because each round sends flow and the
    /// supply is finite. `block` is called only if a path leads from a sender with supply to a
    /// receiver with demand. The first path found must carry at least one unit of flow. (Dinic
    /// showed that paths become longer in each round, so the number of rounds never exceeds the
    /// number of elements.)
    ///
    /// Returns two lists with one entry per element. An entry in the first list is `true` if the
    /// element could send more flow to a receiver with demand. An entry in the second list is
    /// `true` if the element could receive more flow from a sender with supply. Returns `None` if
    /// `is_needed` returns `false` before the computation ends.
    pub(super) fn maximise(
        &mut self,
        is_needed: &dyn Fn() -> bool,
    ) -> Option<(Vec<bool>, Vec<bool>)> {
        while is_needed() {
            let mut levels = self.levels();
            if !levels.is_open {
                let sends = levels.senders.iter().map(|&level| level != usize::MAX);
                let takes = (0..self.demand.len()).map(|one| is_set(&levels.met, one));
                return Some((sends.collect(), takes.collect()));
            }
            self.block(&mut levels, is_needed);
            for taken in &mut self.taken {
                taken.retain(|&(_, amount)| amount > 0);
            }
        }
        None
    }

    /// Returns the levels up to and including the first one that contains a receiver with remaining
    /// demand.
    // Uncounted: the loop needs no counter because the function makes only one pass over the rows.
    // `maximise` checks the clock before each call.
    fn levels(&self) -> Levels {
        let count = self.supply.len();
        let has_some = |&sender: &usize| self.supply[sender] > 0;
        let mut senders = vec![usize::MAX; count];
        let mut current: Vec<usize> = (0..count).filter(has_some).collect();
        let (mut receivers, mut met) = (Vec::new(), vec![0; count.div_ceil(64)]);
        while !current.is_empty() {
            let mut new = vec![0; met.len()];
            for &sender in &current {
                senders[sender] = receivers.len();
                let row = self.precedes.row(sender);
                new.iter_mut().zip(row).for_each(|(word, other)| *word |= other);
            }
            for (new, met) in new.iter_mut().zip(&mut met) {
                *new &= !*met;
                *met |= *new;
            }
            let is_open = ones(&new).any(|receiver| self.demand[receiver] > 0);
            let mut next: Vec<usize> = ones(&new)
                .flat_map(|receiver| &self.taken[receiver])
                .map(|&(sender, _)| sender)
                .filter(|&sender| senders[sender] == usize::MAX)
                .collect();
            receivers.push(new);
            if is_open {
                return Levels { senders, receivers, met, is_open };
            }
            next.sort_unstable();
            next.dedup();
            current = next;
        }
        Levels { senders, receivers, met, is_open: false }
    }

    /// Saturates all paths through consecutive levels until `is_needed` returns `false`.
    ///
    /// The loop terminates because each iteration makes one of three kinds of progress. Each kind
    /// in the following list can happen only a finite number of times before the next kind must
    /// happen:
    ///
    /// - The path grows, but its length never exceeds the number of levels.
    /// - Either a receiver is cleared, or the search continues with the next sender of the
    ///   receiver. Neither change is ever undone.
    /// - Flow is sent. The total supply of flow is finite.
    ///
    /// `send` adds only senders from earlier levels to a receiver's list, so no path can lead to
    /// them.
    fn block(&mut self, levels: &mut Levels, is_needed: &dyn Fn() -> bool) {
        let last = levels.receivers.len() - 1;
        let full: Vec<usize> =
            ones(&levels.receivers[last]).filter(|&one| self.demand[one] == 0).collect();
        full.into_iter().for_each(|one| clear(&mut levels.receivers[last], one));
        // For each sender, the index of the next word to read in its row. For each receiver, the
        // index of the next sender to try.
        let count = self.supply.len();
        let (mut next_word, mut next_taken) = (vec![0; count], vec![0; count]);
        let mut path = Vec::new();
        for first in 0..count {
            if first % SENDERS_UNWATCHED == 0 && !is_needed() {
                return;
            }
            path.clear();
            while self.supply[first] > 0 && levels.senders[first] == 0 {
                let sender = path.last().map_or(first, |step: &Step| step.giver);
                let level = path.len();
                let row = self.precedes.row(sender);
                let found = next(row, &levels.receivers[level], &mut next_word[sender]);
                let Some(receiver) = found else {
                    // The path is a dead end, so the search must reach the receiver through another
                    // sender.
                    let Some(step) = path.pop() else { break };
                    next_taken[step.receiver] = step.at + 1;
                    self.go_on(step.receiver, levels, &mut next_taken, &mut path);
                    continue;
                };
                if level == last {
                    self.send(first, receiver, &mut path);
                    if self.demand[receiver] == 0 {
                        clear(&mut levels.receivers[last], receiver);
                    }
                } else {
                    self.go_on(receiver, levels, &mut next_taken, &mut path);
                }
            }
        }
    }

    /// Extends the path through a receiver to one of its senders, or marks the receiver as a dead
    /// end.
    // Uncounted: the loop needs no counter because the function reads only one receiver's senders.
    // `maximise` checks the clock regularly.
    fn go_on(
        &self,
        receiver: usize,
        levels: &mut Levels,
        next_taken: &mut [usize],
        path: &mut Vec<Step>,
    ) {
        let level = path.len();
        let mut rest = self.taken[receiver].iter().enumerate().skip(next_taken[receiver]);
        let usable = |&(_, &(giver, amount)): &(usize, &(usize, u64))| {
            amount > 0 && levels.senders[giver] == level + 1
        };
        let found = rest.find(usable).map(|(at, &(giver, _))| (at, giver));
        if let Some((at, giver)) = found {
            next_taken[receiver] = at;
            path.push(Step { receiver, at, giver });
        } else {
            clear(&mut levels.receivers[level], receiver);
        }
    }

    /// Sends as much flow as possible along a path from `first` to `last`. The path is truncated at
    /// the first step that cannot carry more flow.
    // Uncounted: the loop needs no counter because the function reads only the steps of a single
    // path. `maximise` checks the clock regularly.
    fn send(&mut self, first: usize, last: usize, path: &mut Vec<Step>) {
        let on_path = path.iter().map(|step| self.taken[step.receiver][step.at].1);
        let amount = on_path.fold(self.supply[first].min(self.demand[last]), u64::min);
        self.supply[first] -= amount;
        self.demand[last] -= amount;
        let mut sender = first;
        for step in path.iter() {
            self.taken[step.receiver][step.at].1 -= amount;
            self.give(sender, step.receiver, amount);
            sender = step.giver;
        }
        self.give(sender, last, amount);
        let used_up = |step: &Step| self.taken[step.receiver][step.at].1 == 0;
        path.truncate(path.iter().position(used_up).unwrap_or(path.len()));
    }

    /// Returns the amounts of flow that each element sends and receives. Returns `None` if the flow
    /// uses an edge that is missing from the relation.
    #[cfg(test)]
    // Uncounted: the loop needs no counter because the function makes only one pass over the
    // elements.
    pub(super) fn sums(&self) -> Option<(Vec<u64>, Vec<u64>)> {
        let (mut sent, mut taken) = (vec![0; self.supply.len()], vec![0; self.demand.len()]);
        for (receiver, givers) in self.taken.iter().enumerate() {
            for &(giver, amount) in givers {
                if !is_set(self.precedes.row(giver), receiver) {
                    return None;
                }
                sent[giver] += amount;
                taken[receiver] += amount;
            }
        }
        Some((sent, taken))
    }

    // Uncounted: the loop needs no counter because the function reads only one receiver's senders.
    fn give(&mut self, sender: usize, receiver: usize, amount: u64) {
        let taken = &mut self.taken[receiver];
        match taken.iter_mut().find(|(giver, _)| *giver == sender) {
            Some((_, given)) => *given += amount,
            None => taken.push((sender, amount)),
        }
    }
}

/// A step of a path, from a receiver to one of its senders. Part of the flow from the sender to the
/// receiver may be redirected.
#[derive(Clone, Copy, Debug)]
struct Step {
    receiver: usize,
    /// The sender's index in the receiver's list of senders.
    at: usize,
    giver: usize,
}

/// Returns the first bit at or after `word` that is set in both rows. Advances `word` to the word
/// that contains the bit.
// Uncounted: the loop needs no counter because the function reads only the words of one row.
fn next(row: &[u64], set: &[u64], word: &mut usize) -> Option<usize> {
    while *word < row.len() {
        let both = row[*word] & set[*word];
        if both != 0 {
            return Some(*word * 64 + both.trailing_zeros() as usize);
        }
        *word += 1;
    }
    None
}

fn is_set(bits: &[u64], one: usize) -> bool {
    bits[one / 64] >> (one % 64) & 1 == 1
}

fn clear(bits: &mut [u64], one: usize) {
    bits[one / 64] &= !(1 << (one % 64));
}
