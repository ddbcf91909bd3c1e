//! A path search that checks all claims about the order of a graph's nodes at once.
//!
//! A matrix of all pairs of nodes would require memory proportional to the square of the number of
//! nodes. To avoid a matrix, the verifier processes at most 512 *sources* at a time. Sources are
//! the nodes at which paths start, sorted by position. Each pass covers all positions from its
//! first source to the last relevant position, and marks the positions that each source reaches. A
//! pass needs 64 bytes for each position. All passes share the same buffer. Nodes that use the same
//! memory are usually close together, so most passes are short.
//!
//! **Why a pass is correct.** A position's mask is the union of two parts. The first part is the
//! position's own bit, if the position is a source. The second part is the union of the masks of
//! all positions that have a full edge to this position. By induction along the topological order,
//! the mask contains a source's bit if and only if full edges lead from the source to the position.
//! By definition, each source reaches itself. Positions before the first source are not reachable
//! from any source, so a pass can skip them. A pass therefore finds exactly the paths that start at
//! its sources.
//!
//! A claim requires paths either to at least one node in a set or to all nodes in a set. For all of
//! a pass's sources at once, the verifier computes the union or intersection of the set's masks. As
//! a result, even a large set is read just once per pass.

use super::order::Order;

/// The number of 64-bit words in a mask.
const WORDS: usize = 8;
/// The number of sources in a pass, which equals the number of bits in a mask.
const SOURCES: usize = WORDS * 64;

/// A mask with one bit for each source of a pass.
pub(super) type Mask = [u64; WORDS];

/// A claim that all of an owner's sources reach a set of nodes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim<T> {
    /// The owner's number, which several sources may share.
    pub(super) owner: usize,
    /// The set of nodes that all sources must reach.
    pub(super) set: T,
    /// The number to report if the claim is false.
    pub(super) who: usize,
}

/// A pass's sources and the positions that they reach.
#[derive(Debug, Default)]
pub(super) struct Pass {
    /// The positions of the pass's sources, in ascending order.
    sources: Vec<usize>,
    /// The masks of all positions from the first source onward. A position's mask contains the
    /// sources that are at this position or precede it.
    masks: Vec<Mask>,
}

impl Pass {
    /// Returns the sources that are at one of these positions or complete before at least one of
    /// them begins.
    pub(super) fn one_or_before_any(&self, places: &[usize]) -> Mask {
        let mut any = [0; WORDS];
        for &place in places {
            any.iter_mut().zip(self.mask(place)).for_each(|(word, other)| *word |= other);
        }
        any
    }

    /// Returns the sources that complete before any of these positions begins.
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

    /// Returns a position's mask. A position before the first source has an empty mask because no
    /// source reaches it. A position after the last relevant position also has an empty mask, so
    /// claims about it fail.
    fn mask(&self, place: usize) -> Mask {
        let first = self.sources.first().copied().unwrap_or(0);
        let known = place.checked_sub(first).and_then(|index| self.masks.get(index));
        known.copied().unwrap_or_default()
    }

    /// Selects the next sources for this pass. Returns the number of pairs in `asked` whose sources
    /// were selected.
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

    /// Computes the masks of all positions from the first source to `last`.
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

    /// Returns a mask of the sources in `asked`. All sources in `asked` must belong to this pass.
    fn bits(&self, asked: &[(usize, usize)]) -> Mask {
        let mut bits = [0; WORDS];
        for &(source, _) in asked {
            let bit = self.sources.partition_point(|&other| other < source);
            bits[bit / 64] |= 1 << (bit % 64);
        }
        bits
    }
}

/// Determines which claims are false. `asked` contains pairs of a source and its owner. The
/// `furthest` closure returns the highest position in a set, and `yes` returns the pass's sources
/// that reach a set. The function calls `no` with the number of each false claim.
pub(super) fn judge<T: Copy + Ord>(
    order: &Order,
    mut asked: Vec<(usize, usize)>,
    mut claims: Vec<Claim<T>>,
    furthest: impl Fn(T) -> usize,
    yes: impl Fn(T, &Pass) -> Mask,
    mut no: impl FnMut(usize),
) {
    asked.sort_unstable();
    claims.sort_unstable_by_key(|claim| claim.owner);
    let mut pass = Pass::default();
    let mut rest = asked.as_mut_slice();
    // The claims about the current pass's sources. Each entry contains the set, the number to
    // report, and a mask of the sources.
    let mut open: Vec<(T, usize, Mask)> = Vec::new();
    while !rest.is_empty() {
        let count = pass.take_sources(rest);
        let (now, later) = std::mem::take(&mut rest).split_at_mut(count);
        rest = later;
        now.sort_unstable_by_key(|&(_, owner)| owner);
        open.clear();
        for alike in now.chunk_by(|one, other| one.1 == other.1) {
            let (owner, sources) = (alike[0].1, pass.bits(alike));
            let first = claims.partition_point(|claim| claim.owner < owner);
            let of_owner = claims[first..].iter().take_while(|claim| claim.owner == owner);
            open.extend(of_owner.map(|claim| (claim.set, claim.who, sources)));
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
