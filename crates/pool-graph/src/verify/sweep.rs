//! A walk through the addresses of an arena: which regions share bytes, and which of these pairs must be
//! looked at so that all of them are known to be ordered.
//!
//! Pairs can be as many as the square of the regions: on one stream all temporaries may have the same
//! bytes. But the order between two regions (`is_before`, in the file above) is a strict partial one:
//!
//! - *Transitive.* Let A be before B and B before C, and b be a last use of B, of which there is one.
//!   Every last use of A is or is before a node that B begins after, that node is before b, and b is or is
//!   before a node that C begins after.
//! - *Irreflexive.* A last use of A would be complete before itself.
//!
//! And it agrees with the *key* of a region, the highest place of its last uses: if A is before B, all
//! last uses of A come before all of B's. A region whose life the edges do not show is before and after
//! none, so the first pair that it is named in is not ordered, whatever its key.
//!
//! The walk keeps the regions that have the current byte sorted by their keys, and names each region that
//! comes in together with the two next to it. Say that up to there each such pair was ordered. Then the
//! regions at hand are a chain by transitivity, also when one has gone from among them; so if both pairs
//! of the new one are ordered, it is ordered with all of them. If one is not, then these two share bytes
//! and neither is before the other: the one of the lower key is not before the other, and the other way
//! round the keys would be. So all pairs that share bytes are ordered exactly if all named ones are, and
//! the first region whose pair is not is the first that is in the way of one before it.
//!
//! For an access the walk names the one region that it can belong to. Of the chain at its first byte let
//! C be one that the node comes after the beginnings of, and is or is before a last use of. Every A
//! before C has its last uses complete before a node that C comes after, so before the node: its key is
//! below the node's place. C's own key is not. So C is the first whose key is not below that place.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::layout::{Access, RegionLayout};
use super::lives::Lives;
use super::order::Order;
use super::regions::Regions;

/// Two regions that share bytes and stand next to each other in the order of their keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    /// The region of the lower key.
    pub(super) earlier: usize,
    pub(super) later: usize,
    /// Which of the two came in with it, as an index of [`SweepResult::by_offset`].
    pub(super) at: usize,
}

/// What a walk found.
#[derive(Debug, Default)]
pub(super) struct SweepResult {
    /// The regions that are used and have bytes, in the order of their offsets.
    pub(super) by_offset: Vec<usize>,
    /// How many pairs share bytes.
    pub(super) sharing: usize,
    /// Of the pairs that share bytes, those that must be ordered.
    pub(super) pairs: Vec<Pair>,
    /// For each access the region that it can belong to, if there is one.
    pub(super) owners: Vec<Option<usize>>,
}

/// Walks through the addresses.
pub(super) fn sweep(
    order: &Order,
    regions: &Regions<'_>,
    lives: &Lives,
    accesses: &[Access],
) -> SweepResult {
    let layout = regions.layout;
    let is_seen = |&region: &usize| layout[region].bytes > 0 && !lives.ends(region).is_empty();
    let mut by_offset: Vec<usize> = (0..layout.len()).filter(is_seen).collect();
    by_offset.sort_by_key(|&region| layout[region].offset);
    let mut swept = SweepResult { owners: vec![None; accesses.len()], ..SweepResult::default() };
    let mut at_hand =
        ActiveRegions { layout, lives, active: BTreeSet::new(), ends: BinaryHeap::new() };
    let mut waiting: Vec<usize> = (0..accesses.len()).collect();
    waiting.sort_by_key(|&access| accesses[access].offset);
    let mut waiting = waiting.into_iter().peekable();
    for (at, &region) in by_offset.iter().enumerate() {
        let offset = layout[region].offset;
        while let Some(access) = waiting.next_if(|&access| accesses[access].offset < offset) {
            swept.owners[access] = at_hand.owner(order, &accesses[access]);
        }
        at_hand.advance(offset);
        swept.sharing = swept.sharing.saturating_add(at_hand.active.len());
        at_hand.enter(region, at, &mut swept.pairs);
    }
    for access in waiting {
        swept.owners[access] = at_hand.owner(order, &accesses[access]);
    }
    swept.by_offset = by_offset;
    swept
}

/// The regions that have the current byte.
struct ActiveRegions<'a> {
    layout: &'a [RegionLayout],
    lives: &'a Lives,
    /// The regions by their keys.
    active: BTreeSet<(usize, usize)>,
    /// The regions by where they end.
    ends: BinaryHeap<Reverse<(u64, (usize, usize))>>,
}

impl ActiveRegions<'_> {
    /// Goes on to an address.
    fn advance(&mut self, address: u64) {
        while let Some(&Reverse((end, keyed))) = self.ends.peek() {
            if end > address {
                return;
            }
            self.active.remove(&keyed);
            self.ends.pop();
        }
    }

    /// Takes a region in, and names it with those next to it.
    fn enter(&mut self, region: usize, at: usize, pairs: &mut Vec<Pair>) {
        let keyed = (self.lives.last(region), region);
        let below = self.active.range(..keyed).next_back();
        let above = self.active.range(keyed..).next();
        pairs.extend(below.map(|&(_, earlier)| Pair { earlier, later: region, at }));
        pairs.extend(above.map(|&(_, later)| Pair { earlier: region, later, at }));
        self.active.insert(keyed);
        self.ends.push(Reverse((self.layout[region].end(), keyed)));
    }

    /// Goes on to an access, and names the region that it can belong to.
    fn owner(&mut self, order: &Order, access: &Access) -> Option<usize> {
        self.advance(access.offset);
        let place = order.place(access.node);
        let &(_, region) = self.active.range((place, 0)..).next()?;
        self.layout[region].contains(access).then_some(region)
    }
}
