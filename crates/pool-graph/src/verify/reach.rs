//! Reachability between nodes, for all claims about a graph at once.
//!
//! A matrix of all nodes by all nodes would take memory that grows with the square of the graph. So
//! the *sources*, the nodes from which paths must exist, are sorted by their places, and 512 of
//! them are processed together. One pass over the places, from the first of them to the last
//! relevant one, marks the places that each of them reaches. It takes 64 bytes a place, once. Users
//! of the same memory mostly are close together, so most passes are short.
//!
//! **Why a pass is right.** A place's mask is the union of its own bit, if it is one of the
//! sources, and of the masks of all sources of its full edges. By induction along the order, it has
//! the bit of a source exactly if it is that source, or a path of full edges leads from there to
//! it. Places before the first source are left out: they come after none of them. So the pass finds
//! exactly the paths from the sources.
//!
//! The target of a path is a set of nodes: one of them, or all. For the sources of a pass together
//! that is the union of the set's masks, or their intersection. So large sets are read once a pass,
//! for any number of sources.

use super::order::Order;

/// Words of a mask.
const WORDS: usize = 8;
/// Sources of a pass: bits of a mask.
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
    /// The places of the sources, ascending.
    sources: Vec<usize>,
    /// For each place from the first source on, the sources that are there or precede it.
    masks: Vec<Mask>,
}

impl Pass {
    /// Returns the sources that are one of these places, or complete before one of them.
    pub(super) fn one_or_before_any(&self, places: &[usize]) -> Mask {
        let mut any = [0; WORDS];
        for &place in places {
            any.iter_mut().zip(self.mask(place)).for_each(|(word, other)| *word |= other);
        }
        any
    }

    /// Returns the sources that are complete before each of these places.
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

    /// Returns the mask of a place. Places before the first source come after none. Places after
    /// the last relevant one are unknown, and get an empty mask, which refuses.
    fn mask(&self, place: usize) -> Mask {
        let first = self.sources.first().copied().unwrap_or(0);
        let known = place.checked_sub(first).and_then(|index| self.masks.get(index));
        known.copied().unwrap_or_default()
    }

    /// Takes the next sources. Returns the number of pairs of a source and its owner that have
    /// them.
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

    /// Computes the masks of the places from the first of the sources to `last`.
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

    /// Returns the bits of an owner's sources, which are among those of the pass.
    fn bits(&self, asked: &[(usize, usize)]) -> Mask {
        let mut bits = [0; WORDS];
        for &(source, _) in asked {
            let bit = self.sources.partition_point(|&other| other < source);
            bits[bit / 64] |= 1 << (bit % 64);
        }
        bits
    }
}

/// Decides all claims. `asked` has each source with its owner. `furthest` returns the last place of
/// a set, `yes` the sources of a pass that reach it; `no` is called with each failed claim.
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
