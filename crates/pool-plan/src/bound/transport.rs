//! Maximum flow from elements to later elements, by blocking flows on level graphs (Dinic 1970),
//! without recursion.
//!
//! Each element has a weight to send and a weight to take. An edge without limit leads from each
//! element to all later ones. These edges are the bits of the relation itself, and only edges with
//! flow are listed. So memory grows with the elements, and not with the pairs of the relation.

use crate::bits::{BitMatrix, ones};

/// The number of senders between two checks of the clock.
const SENDERS_UNWATCHED: usize = 64;

/// A flow, and the supply and demand that are left.
#[derive(Debug)]
pub(super) struct Transport<'a> {
    precedes: &'a BitMatrix,
    supply: Vec<u64>,
    demand: Vec<u64>,
    /// For each receiver, the senders that it takes from, and the amounts.
    taken: Vec<Vec<(usize, u64)>>,
}

/// For each sender and receiver, its distance from a sender with supply left, in steps of two.
struct Levels {
    senders: Vec<usize>,
    /// The receivers of each level, as bits.
    receivers: Vec<Vec<u64>>,
    /// The receivers of all levels, as bits.
    met: Vec<u64>,
    /// `true` if some receiver of the last level can take more.
    is_open: bool,
}

impl<'a> Transport<'a> {
    /// Makes an empty flow.
    // Uncounted: one pass over the elements.
    pub(super) fn new(precedes: &'a BitMatrix, weights: &[u64]) -> Self {
        let (supply, demand) = (weights.to_vec(), weights.to_vec());
        Self { precedes, supply, demand, taken: vec![Vec::new(); weights.len()] }
    }

    /// Sends as much as possible. The loop ends, because each round sends something and supply is
    /// finite. `block` is called only if a path leads from a sender with supply to a receiver with
    /// demand, and its first path carries at least one. (By Dinic's argument, paths are longer in
    /// each round, so there are no more rounds than elements.)
    ///
    /// Returns two values for each element: `true` if more could be sent from it to a receiver with
    /// demand, and `true` if it could take more from a sender with supply. Returns `None` if
    /// `is_needed` returned `false` first.
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

    /// Returns the levels up to the first one with a receiver that can take more.
    // Uncounted: one pass over the rows; `maximise` checks the clock before each.
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

    /// Fills every path that goes from level to level, until `is_needed` returns `false`.
    ///
    /// The loop ends: each turn takes one of three steps, and each kind occurs finitely often
    /// between steps of the kind after it.
    ///
    /// - The path grows, and is no longer than the number of levels.
    /// - A receiver is cleared, or moves to its next giver; neither is ever undone.
    /// - Something is sent, and the supply is finite.
    ///
    /// The givers that `send` adds to a receiver are of a level before it, so that no path goes to
    /// them.
    fn block(&mut self, levels: &mut Levels, is_needed: &dyn Fn() -> bool) {
        let last = levels.receivers.len() - 1;
        let full: Vec<usize> =
            ones(&levels.receivers[last]).filter(|&one| self.demand[one] == 0).collect();
        full.into_iter().for_each(|one| clear(&mut levels.receivers[last], one));
        // The next position of each sender, as a word of its row, and of each receiver, as an index
        // of its givers.
        let count = self.supply.len();
        let (mut next_word, mut next_taken) = (vec![0; count], vec![0; count]);
        let mut path = Vec::new();
        for first in 0..count {
            if first % SENDERS_UNWATCHED == 0 && !is_needed() {
                return;
            }
            path.clear();
            while self.supply[first] > 0 && levels.senders[first] == 0 {
                // The sender at the end of the path.
                let sender = path.last().map_or(first, |step: &Step| step.giver);
                let level = path.len();
                let row = self.precedes.row(sender);
                let found = next(row, &levels.receivers[level], &mut next_word[sender]);
                let Some(receiver) = found else {
                    // A dead end: its giver tries another receiver.
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

    /// Extends the path over a receiver to one of its givers, or marks the receiver as a dead end.
    // Uncounted: the words of a row; `maximise` checks the clock meanwhile.
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

    /// Sends the largest possible amount along a path from `first` to `last`, and cuts the path
    /// back to the first exhausted step.
    // Uncounted: the words of a row; `maximise` checks the clock meanwhile.
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

    /// Returns the weights that each element sends and takes; `None` if there is flow outside the
    /// relation.
    #[cfg(test)]
    // Uncounted: one pass over the elements.
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

    // Uncounted: the vertices of a tree, from a leaf to the root.
    fn give(&mut self, sender: usize, receiver: usize, amount: u64) {
        let taken = &mut self.taken[receiver];
        match taken.iter_mut().find(|(giver, _)| *giver == sender) {
            Some((_, given)) => *given += amount,
            None => taken.push((sender, amount)),
        }
    }
}

/// A step of a path: from a receiver to one of its givers, whose flow may be sent elsewhere.
#[derive(Clone, Copy, Debug)]
struct Step {
    receiver: usize,
    /// The index of the giver among those of the receiver.
    at: usize,
    giver: usize,
}

/// Returns the first bit that is set in both rows from a word on, and moves the word to that bit's.
// Uncounted: the vertices of a tree, from a leaf to the root.
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
