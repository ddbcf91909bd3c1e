//! A sweep over the addresses of an arena. It finds the regions that share bytes, and a subset of
//! these pairs whose order implies the order of all pairs.
//!
//! The number of pairs can be the square of the number of regions: on one stream, all temporaries
//! may share the same bytes. But the order between two regions (`are_before` in `questions.rs`) is
//! a strict partial order:
//!
//! - *Transitive.* Let A be before B and B before C, and let b be a last use of B, which exists.
//!   Every last use of A is a node that B begins after, or precedes such a node. That node precedes
//!   b. And b is a node that C begins after, or precedes such a node.
//! - *Irreflexive.* Otherwise a last use of A would complete before itself.
//!
//! The order also agrees with the *key* of a region, the highest position of its last uses. If A is
//! before B, all last uses of A precede all last uses of B. A region whose lifetime the edges do
//! not confirm is neither before nor after any other region. The first pair that contains such a
//! region is therefore not ordered, whatever the keys are.
//!
//! The sweep keeps the regions that contain the current byte sorted by their keys, and pairs each
//! new region with its two neighbours. Assume that each earlier pair was ordered. Then the current
//! regions form a chain by transitivity, even after one of them has been removed. If both pairs of
//! the new region are ordered, the new region is ordered with all regions of the chain. If one pair
//! is not ordered, its two regions share bytes and neither is before the other. The region with the
//! lower key is not before the other region, and the reverse would contradict the keys. All pairs
//! that share bytes are therefore ordered exactly if all of the sweep's pairs are ordered. The
//! first region with an unordered pair is the first that conflicts with an earlier region.
//!
//! For an access, the sweep finds the only region to which the access can belong. Consider the
//! chain at the first byte of the access. Let C be a region of the chain such that the node follows
//! C's beginnings, and is a last use of C or precedes one. For every region A before C, the last
//! uses of A complete before a node that C begins after, and therefore before the accessing node.
//! The key of A is below the position of that node, and the key of C is not. C is therefore the
//! first region whose key is not below that position.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::layout::{Access, RegionLayout};
use super::lives::Lives;
use super::order::Order;
use super::regions::Regions;

/// Two regions that share bytes and are neighbours in the order of their keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    /// The region with the lower key.
    pub(super) earlier: usize,
    pub(super) later: usize,
    /// The region of the pair that was entered last, as an index into [`SweepResult::by_offset`].
    pub(super) at: usize,
}

/// The result of a sweep.
#[derive(Debug, Default)]
pub(super) struct SweepResult {
    /// The regions that are used and not empty, in the order of their offsets.
    pub(super) by_offset: Vec<usize>,
    /// The number of pairs of regions that share bytes.
    pub(super) sharing: usize,
    /// The pairs of regions that share bytes and must be checked for order.
    pub(super) pairs: Vec<Pair>,
    /// For each access, the region to which it can belong, if there is one.
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

/// The regions that contain the current byte.
struct ActiveRegions<'a> {
    layout: &'a [RegionLayout],
    lives: &'a Lives,
    /// The regions, sorted by their keys.
    active: BTreeSet<(usize, usize)>,
    /// The regions, sorted by their ends.
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

    /// Advances to an access. Returns the region to which the access can belong.
    fn owner(&mut self, order: &Order, access: &Access) -> Option<usize> {
        self.advance(access.offset);
        let place = order.place(access.node);
        let &(_, region) = self.active.range((place, 0)..).next()?;
        self.layout[region].contains(access).then_some(region)
    }
}
