//! Which nodes are complete before which, for all that is claimed of a graph at once.
//!
//! A matrix of all nodes by all nodes would tell, and takes memory that grows with the square of the
//! graph. So the nodes from which paths must lead somewhere, the *sources*, are sorted by their places,
//! and 512 of them are looked at together: one pass over the places, from the first of them to the last
//! that matters to them, marks what each of them reaches. It takes 64 bytes a place, once; and as what
//! uses memory mostly stands close together, most passes are short.
//!
//! **Why a pass is right.** A place's mask is made of its own bit, if it is one of the sources, and of
//! the masks of all places that a full edge leads from. By induction along the order it has the bit of
//! a source exactly if it is that source, or a path of full edges leads from there to it. Places before
//! the first source are left out: they come after none of them. So all paths from a source are seen,
//! and nothing else is.
//!
//! What a path must lead to is a set of nodes: one of them, or all. For the sources of a pass together
//! that is the union of the set's masks, or their intersection. So large sets are looked through once a
//! pass, however many sources there are.

use super::order::Order;

/// Words of a mask.
const WORDS: usize = 8;
/// Sources of a pass: bits of a mask.
const SOURCES: usize = WORDS * 64;

/// A bit for each source of a pass.
pub(super) type Mask = [u64; WORDS];

/// What must hold of all sources of an asker.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim<T> {
    pub(super) asker: usize,
    /// What the sources must reach.
    pub(super) set: T,
    /// The number of what does not hold where the claim does not.
    pub(super) who: usize,
}

/// What the sources of a pass reach.
#[derive(Debug, Default)]
pub(super) struct Pass {
    /// The places of the sources, ascending.
    sources: Vec<usize>,
    /// Of each place from the first source on: which sources are there or come before it.
    masks: Vec<Mask>,
}

impl Pass {
    /// Which sources are one of these places, or complete before one of them.
    pub(super) fn one_or_before_any(&self, places: &[usize]) -> Mask {
        let mut any = [0; WORDS];
        for &place in places {
            any.iter_mut().zip(self.mask(place)).for_each(|(word, other)| *word |= other);
        }
        any
    }

    /// Which sources are complete before each of these places.
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

    /// Places before the first source have none of them before them. Of those beyond the last one that
    /// was to matter nothing is known, which refuses.
    fn mask(&self, place: usize) -> Mask {
        let first = self.sources.first().copied().unwrap_or(0);
        let known = place.checked_sub(first).and_then(|index| self.masks.get(index));
        known.copied().unwrap_or_default()
    }

    /// Takes the next sources; how many of these pairs of a source and its asker have them.
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

    /// Makes the masks of the places from the first of the sources to `last`.
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

    /// The bits of the sources of an asker, which are among those of the pass.
    fn bits(&self, asked: &[(usize, usize)]) -> Mask {
        let mut bits = [0; WORDS];
        for &(source, _) in asked {
            let bit = self.sources.partition_point(|&other| other < source);
            bits[bit / 64] |= 1 << (bit % 64);
        }
        bits
    }
}

/// Judges all claims. `asked` has each source with its asker, `furthest` says up to which place a set
/// goes, `yes` which sources of a pass reach it; `no` is told for whom a claim does not hold.
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
    // What is claimed of the sources of a pass: the set, for whom, and the sources.
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
