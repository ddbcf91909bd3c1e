//! Reachability between nodes, computed for all claims about a graph together.
//!
//! A matrix of all pairs of nodes would need memory that grows with the square of the graph.
//! Instead, the *sources*, the nodes from which paths must exist, are sorted by position, and 512
//! of them are processed together. One pass covers the positions from the first source to the last
//! relevant position, and marks which positions each source reaches. A pass needs 64 bytes for each
//! position, and passes reuse that memory. Users of the same memory are mostly close together, so
//! most passes are short.
//!
//! **Why a pass is correct.** The mask of a position is the union of its own bit, if the position
//! is a source, and the masks of the sources of all full edges that lead to it. By induction along
//! the order, the mask contains the bit of a source exactly if the position is that source, or a
//! path of full edges leads from that source to the position. Positions before the first source are
//! left out, because they follow no source. A pass therefore finds exactly the paths from its
//! sources.
//!
//! The target of a path is a set of nodes: either any of them, or all of them. For all sources of a
//! pass together, the answer is the union or the intersection of the masks in the set. Large sets
//! are therefore read once in each pass, whatever the number of sources.

use super::order::Order;

/// The number of words in a mask.
const WORDS: usize = 8;
/// The number of sources in a pass, which is the number of bits in a mask.
const SOURCES: usize = WORDS * 64;

/// A bit for each source of a pass.
pub(super) type Mask = [u64; WORDS];

/// A claim about all sources of an owner.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim<T> {
    pub(super) asker: usize,
    /// The set that the sources must reach.
    pub(super) set: T,
    /// The number to report if the claim does not hold.
    pub(super) who: usize,
}

/// The nodes that the sources of a pass reach.
#[derive(Debug, Default)]
pub(super) struct Pass {
    /// The positions of the sources, in ascending order.
    sources: Vec<usize>,
    /// For each position from the first source on, the sources that are at this position or precede
    /// it.
    masks: Vec<Mask>,
}

impl Pass {
    /// Returns the sources that are at one of these positions, or complete before one of them.
    pub(super) fn one_or_before_any(&self, places: &[usize]) -> Mask {
        let mut any = [0; WORDS];
        for &place in places {
            any.iter_mut().zip(self.mask(place)).for_each(|(word, other)| *word |= other);
        }
        any
    }

    /// Returns the sources that complete before each of these positions.
    pub(super) fn before_all(&self, places: &[usize]) -> Mask {
        let mut all = [u64::MAX; WORDS];
        for &place in places {
            all.iter_mut().zip(self.mask(place)).for_each(|(word, other)| *word &= other);
            if let Ok(itself) = self.sources.binary_search(&place) {
                all[itself / 64] &= !(1 << (itself % 64));
            }
        }
        all
    }

    /// Returns the mask of a position. Positions before the first source follow no source.
    /// Positions after the last relevant position are unknown and have an empty mask, so that
    /// claims about them fail.
    fn mask(&self, place: usize) -> Mask {
        let first = self.sources.first().copied().unwrap_or(0);
        let known = place.checked_sub(first).and_then(|index| self.masks.get(index));
        known.copied().unwrap_or_default()
    }

    /// Takes the next sources. Returns the number of pairs in `asked` that contain one of these
    /// sources.
    fn take_sources(&mut self, asked: &[(usize, usize)]) -> usize {
        self.sources.clear();
        for (count, &(source, _)) in asked.iter().enumerate() {
            if self.sources.last() == Some(&source) {
                continue;
            }
            if self.sources.len() == SOURCES {
                return count;
            }
            self.sources.push(source);
        }
        asked.len()
    }

    /// Computes the masks of the positions from the first source to `last`.
    fn run(&mut self, order: &Order, last: usize) {
        self.masks.clear();
        let Some(&first) = self.sources.first() else { return };
        self.masks.resize((last + 1).saturating_sub(first), [0; WORDS]);
        let mut next = self.sources.iter().enumerate().peekable();
        for place in first..=last {
            let (done, open) = self.masks.split_at_mut(place - first);
            let mask = &mut open[0];
            for &before in order.before(place).iter().filter(|&&before| before >= first) {
                mask.iter_mut().zip(&done[before - first]).for_each(|(word, other)| *word |= other);
            }
            if let Some((bit, _)) = next.next_if(|&(_, &source)| source == place) {
                mask[bit / 64] |= 1 << (bit % 64);
            }
        }
    }

    /// Returns the bits of an owner's sources. The sources must be in this pass.
    fn bits(&self, asked: &[(usize, usize)]) -> Mask {
        let mut bits = [0; WORDS];
        for &(source, _) in asked {
            let bit = self.sources.partition_point(|&other| other < source);
            bits[bit / 64] |= 1 << (bit % 64);
        }
        bits
    }
}

/// Decides all claims. `asked` contains each source with its owner. `furthest` returns the last
/// position of a set, and `yes` returns the sources of a pass that reach the set. `no` is called
/// with each claim that fails.
pub(super) fn judge<T: Copy + Ord>(
    order: &Order,
    mut asked: Vec<(usize, usize)>,
    mut claims: Vec<Claim<T>>,
    furthest: impl Fn(T) -> usize,
    yes: impl Fn(T, &Pass) -> Mask,
    mut no: impl FnMut(usize),
) {
    asked.sort_unstable();
    claims.sort_unstable_by_key(|claim| claim.asker);
    let mut pass = Pass::default();
    let mut rest = asked.as_mut_slice();
    // The claims about the sources of a pass: the set, the owner, and the sources.
    let mut open: Vec<(T, usize, Mask)> = Vec::new();
    while !rest.is_empty() {
        let count = pass.take_sources(rest);
        let (now, later) = std::mem::take(&mut rest).split_at_mut(count);
        rest = later;
        now.sort_unstable_by_key(|&(_, asker)| asker);
        open.clear();
        for alike in now.chunk_by(|one, other| one.1 == other.1) {
            let (asker, sources) = (alike[0].1, pass.bits(alike));
            let first = claims.partition_point(|claim| claim.asker < asker);
            let of_asker = claims[first..].iter().take_while(|claim| claim.asker == asker);
            open.extend(of_asker.map(|claim| (claim.set, claim.who, sources)));
        }
        let Some(last) = open.iter().map(|&(set, ..)| furthest(set)).max() else { continue };
        pass.run(order, last);
        open.sort_unstable_by_key(|&(set, ..)| set);
        for alike in open.chunk_by(|one, other| one.0 == other.0) {
            let yes = yes(alike[0].0, &pass);
            let fails =
                |sources: &Mask| sources.iter().zip(&yes).any(|(asked, yes)| asked & !yes > 0);
            alike.iter().filter(|(.., sources)| fails(sources)).for_each(|&(_, who, _)| no(who));
        }
    }
}
