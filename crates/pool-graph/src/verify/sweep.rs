//! Sweeps over an arena's addresses to find the regions that share bytes. The sweep selects some
//! pairs of regions that share bytes. If the selected pairs are ordered, all pairs are.
//!
//! The number of pairs that share bytes can grow with the square of the number of regions. For
//! example, all temporaries on a single stream may share the same bytes. However, `are_before` in
//! `questions.rs` defines a strict partial order of the regions:
//!
//! - *Transitive.* Assume that A is before B and that B is before C. The sweep ignores regions
//!   without last uses, so B has at least one. Let b be one of B's last uses. Every last use of A
//!   belongs to B's `after` list or precedes a node in it, and each node in this list precedes b.
//!   The node b, in turn, belongs to C's `after` list or precedes a node in it. A is therefore
//!   before C.
//! - *Irreflexive.* A region cannot be before itself, because one of its last uses would then have
//!   to complete before itself.
//!
//! A region's *key* is the highest position among its last uses. A region that precedes another
//! region has a lower key. If A is before B, all last uses of A precede all last uses of B. If the
//! edges do not confirm a region's lifetime, the region is treated as unordered relative to every
//! other region. A pair that includes an unconfirmed region is therefore never ordered, regardless
//! of the keys.
//!
//! The sweep stores the regions that contain the current byte, sorted by key, and pairs each new
//! region with its two neighbors. Assume that all earlier pairs were ordered. By transitivity, the
//! current regions then form a chain, even after one region is removed. If both pairs that contain
//! the new region are ordered, the new region is ordered relative to every region in the chain. If
//! one of the pairs is not ordered, its two regions share bytes, and neither of them is before the
//! other. The region with the lower key is not before the other region, and the reverse order would
//! contradict the keys. All regions that share bytes are therefore ordered if and only if all of
//! the sweep's pairs are ordered. The first new region that forms an unordered pair is also the
//! first region that conflicts with an earlier region.
//!
//! For each access, the sweep finds the only region to which the access can belong. Consider the
//! chain of regions that contain the first byte of the access. Let C be the region in the chain
//! that owns the byte. In other words, the accessing node follows C's `after` list and is one of
//! C's last uses or precedes one of them. For every region A before C, each of A's last uses
//! completes before the accessing node begins, because that node follows C's `after` list. A's key
//! is lower than the position of the accessing node, whereas C's key is at least that position. C
//! is therefore the first region in the chain whose key is at least this position.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::layout::{NodeAccess, RegionLayout};
use super::lives::Lives;
use super::order::Order;
use super::regions::Regions;

/// Two regions that share bytes and have adjacent keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    /// The region with the lower key.
    pub(super) earlier: usize,
    pub(super) later: usize,
    /// The index in [`SweepResult::by_offset`] of the region that the sweep reached last.
    pub(super) at: usize,
}

/// The result of a sweep over an arena's addresses.
#[derive(Debug, Default)]
pub(super) struct SweepResult {
    /// All nonempty regions that have last uses, sorted by offset.
    pub(super) by_offset: Vec<usize>,
    /// The total number of region pairs that share bytes.
    pub(super) sharing: usize,
    /// The region pairs whose order must be checked.
    pub(super) pairs: Vec<Pair>,
    /// For each access, the only region to which it can belong, or `None` if there is no such
    /// region.
    pub(super) owners: Vec<Option<usize>>,
}

/// Sweeps over an arena's addresses.
pub(super) fn sweep(
    order: &Order,
    regions: &Regions<'_>,
    lives: &Lives,
    accesses: &[NodeAccess],
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

/// The regions that contain the sweep's current byte.
struct ActiveRegions<'a> {
    layout: &'a [RegionLayout],
    lives: &'a Lives,
    /// The keys and indices of the active regions, sorted by key.
    active: BTreeSet<(usize, usize)>,
    /// The ends and indices of the active regions, sorted by end.
    ends: BinaryHeap<Reverse<(u64, (usize, usize))>>,
}

impl ActiveRegions<'_> {
    /// Moves the sweep to an address and removes the regions that end at or before it.
    fn advance(&mut self, address: u64) {
        while let Some(&Reverse((end, keyed))) = self.ends.peek() {
            if end > address {
                return;
            }
            self.active.remove(&keyed);
            self.ends.pop();
        }
    }

    /// Adds a region to the active regions, which are sorted by key, and pairs it with its
    /// neighbors.
    fn enter(&mut self, region: usize, at: usize, pairs: &mut Vec<Pair>) {
        let keyed = (self.lives.last(region), region);
        let below = self.active.range(..keyed).next_back();
        let above = self.active.range(keyed..).next();
        pairs.extend(below.map(|&(_, earlier)| Pair { earlier, later: region, at }));
        pairs.extend(above.map(|&(_, later)| Pair { earlier: region, later, at }));
        self.active.insert(keyed);
        self.ends.push(Reverse((self.layout[region].end(), keyed)));
    }

    /// Moves the sweep to the start of an access. Returns the only region to which the access can
    /// belong.
    fn owner(&mut self, order: &Order, access: &NodeAccess) -> Option<usize> {
        self.advance(access.offset);
        let place = order.place(access.node);
        let &(_, region) = self.active.range((place, 0)..).next()?;
        self.layout[region].contains(access).then_some(region)
    }
}
