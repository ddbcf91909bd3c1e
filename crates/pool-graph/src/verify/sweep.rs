//! A sweep over the addresses of an arena. It finds the regions that share bytes, and a subset of
//! these pairs whose order implies the order of all.
//!
//! The number of pairs can be the square of the regions: on one stream all temporaries may have the
//! same bytes. But the order between two regions (`is_before`, in the file above) is a strict
//! partial one:
//!
//! - *Transitive.* Let A be before B and B before C, and b be a last use of B; there is one. Every
//!   last use of A is or precedes a node that B begins after, that node precedes b, and b is or
//!   precedes a node that C begins after.
//! - *Irreflexive.* A last use of A would be complete before itself.
//!
//! And it agrees with the *key* of a region, the highest place of its last uses: if A is before B,
//! all last uses of A precede all of B's. A region whose life the edges do not confirm is before
//! and after none. So the first pair with it is not ordered, for any key.
//!
//! The sweep keeps the regions with the current byte sorted by their keys, and pairs each new
//! region with its two neighbours. Assume that each earlier pair was ordered. Then the current
//! regions are a chain by transitivity, even after one of them has left. If both pairs of the new
//! one are ordered, it is ordered with all of them. If one is not, then these two share bytes and
//! neither is before the other. The one with the lower key is not before the other, and the reverse
//! would contradict the keys. So all pairs that share bytes are ordered exactly if all these pairs
//! are. The first region with an unordered pair is the first that conflicts with an earlier one.
//!
//! For an access the sweep finds the only region that it can belong to. In the chain at its first
//! byte let C be one such that the node comes after C's beginnings, and is or precedes a last use
//! of C. Every A before C has its last uses complete before a node that C comes after, so before
//! the node: its key is below the node's place. C's own key is not. So C is the first whose key is
//! not below that place.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::layout::{Access, RegionLayout};
use super::lives::Lives;
use super::order::Order;
use super::regions::Regions;

/// Two regions that share bytes and are neighbours in the order of their keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    /// The region of the lower key.
    pub(super) earlier: usize,
    pub(super) later: usize,
    /// The region of the two that entered last, as an index of [`SweepResult::by_offset`].
    pub(super) at: usize,
}

/// The result of a sweep.
#[derive(Debug, Default)]
pub(super) struct SweepResult {
    /// The used regions with bytes, in the order of their offsets.
    pub(super) by_offset: Vec<usize>,
    /// The number of pairs that share bytes.
    pub(super) sharing: usize,
    /// The pairs, among those that share bytes, that must be ordered.
    pub(super) pairs: Vec<Pair>,
    /// For each access, the region that it can belong to, if there is one.
    pub(super) owners: Vec<Option<usize>>,
}

/// Sweeps over the addresses.
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

/// The regions with the current byte.
struct ActiveRegions<'a> {
    layout: &'a [RegionLayout],
    lives: &'a Lives,
    /// The regions by their keys.
    active: BTreeSet<(usize, usize)>,
    /// The regions by their ends.
    ends: BinaryHeap<Reverse<(u64, (usize, usize))>>,
}

impl ActiveRegions<'_> {
    /// Advances to an address.
    fn advance(&mut self, address: u64) {
        while let Some(&Reverse((end, keyed))) = self.ends.peek() {
            if end > address {
                return;
            }
            self.active.remove(&keyed);
            self.ends.pop();
        }
    }

    /// Adds a region, and pairs it with its neighbours.
    fn enter(&mut self, region: usize, at: usize, pairs: &mut Vec<Pair>) {
        let keyed = (self.lives.last(region), region);
        let below = self.active.range(..keyed).next_back();
        let above = self.active.range(keyed..).next();
        pairs.extend(below.map(|&(_, earlier)| Pair { earlier, later: region, at }));
        pairs.extend(above.map(|&(_, later)| Pair { earlier: region, later, at }));
        self.active.insert(keyed);
        self.ends.push(Reverse((self.layout[region].end(), keyed)));
    }

    /// Advances to an access. Returns the region that it can belong to.
    fn owner(&mut self, order: &Order, access: &Access) -> Option<usize> {
        self.advance(access.offset);
        let place = order.place(access.node);
        let &(_, region) = self.active.range((place, 0)..).next()?;
        self.layout[region].contains(access).then_some(region)
    }
}
