//! What has to be known of a graph's order: of two regions, whether the one is before the other; of an
//! access and a region, whether it is made while the bytes are the region's own.

use super::order::Order;
use super::reach::{Claim, Mask, Pass, both, judge};
use super::regions::Regions;

/// A graph and its regions, of which things are asked.
#[derive(Debug)]
pub(super) struct Questions<'a> {
    order: &'a Order,
    regions: &'a Regions<'a>,
}

/// What a node must reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Set {
    /// All uses of a region that are known: they come after it.
    Uses(usize),
    /// A last use of a region: it is one, or comes before one.
    LastUse(usize),
    /// What a region begins after, or is itself, and its last uses: that these come after what the
    /// region begins after is what was said, so they are looked at themselves.
    Region(usize),
    /// The node at this place.
    Node(usize),
}

/// Who asks about a region's sake: the lists of its nodes that paths must lead from.
#[derive(Clone, Copy, Debug)]
enum SourceNodes {
    /// The nodes that the region begins after.
    Beginnings,
    /// The uses of the region.
    Uses,
    /// The last uses of the region.
    LastUses,
}

impl SourceNodes {
    /// The number of the asker.
    fn of(self, region: usize) -> usize {
        region * 3 + self as usize
    }
}

impl<'a> Questions<'a> {
    pub(super) fn new(order: &'a Order, regions: &'a Regions<'a>) -> Self {
        Self { order, regions }
    }

    /// Of each pair of regions, whether the first is before the second: the edges show that the uses of
    /// the first end where it says so, and that those of the second begin where that says so; and what
    /// ends the first is complete before the second begins.
    pub(super) fn are_before(&self, pairs: &[(usize, usize)]) -> Vec<bool> {
        let regions = self.regions;
        let count = regions.layout.len();
        let mut named: Vec<usize> = pairs.iter().flat_map(|&(one, other)| [one, other]).collect();
        named.sort_unstable();
        named.dedup();
        let (mut asked, mut claims) =
            (Vec::new(), Vec::with_capacity(named.len() * 2 + pairs.len()));
        for &region in &named {
            let mut ask = |from: SourceNodes, nodes: &[usize]| {
                asked.extend(nodes.iter().map(|&node| (node, from.of(region))));
            };
            ask(SourceNodes::Beginnings, regions.after(region));
            ask(SourceNodes::Uses, regions.uses(region));
            ask(SourceNodes::LastUses, regions.until(region));
            let (begin, end) = (SourceNodes::Beginnings.of(region), SourceNodes::Uses.of(region));
            claims.push(Claim { asker: begin, set: Set::Uses(region), who: region });
            claims.push(Claim { asker: end, set: Set::LastUse(region), who: count + region });
        }
        for (pair, &(earlier, later)) in pairs.iter().enumerate() {
            let asker = SourceNodes::LastUses.of(earlier);
            claims.push(Claim { asker, set: Set::Region(later), who: count * 2 + pair });
        }
        // Of regions, whether the edges show where their uses begin, and where they end; of pairs,
        // whether the second follows.
        let mut holds = vec![true; count * 2 + pairs.len()];
        self.judge(asked, claims, |who| holds[who] = false);
        let is_before = |(pair, &(earlier, later)): (usize, &(usize, usize))| {
            holds[count + earlier] && holds[later] && holds[count * 2 + pair]
        };
        pairs.iter().enumerate().map(is_before).collect()
    }

    /// Of each access, given as the place of its node and a region that it lies in, whether it is made
    /// while the bytes are the region's own.
    pub(super) fn are_timely(&self, accesses: &[(usize, usize)]) -> Vec<bool> {
        let regions = self.regions;
        let first_node = regions.layout.len();
        let (mut asked, mut claims) = (Vec::new(), Vec::with_capacity(accesses.len() * 2));
        for (access, &(place, region)) in accesses.iter().enumerate() {
            let asker = first_node + place;
            asked.push((place, asker));
            claims.push(Claim { asker: region, set: Set::Node(place), who: access });
            claims.push(Claim { asker, set: Set::LastUse(region), who: access });
        }
        let mut named: Vec<usize> = accesses.iter().map(|&(_, region)| region).collect();
        named.sort_unstable();
        named.dedup();
        for region in named {
            asked.extend(regions.after(region).iter().map(|&node| (node, region)));
        }
        let mut timely = vec![true; accesses.len()];
        self.judge(asked, claims, |who| timely[who] = false);
        timely
    }

    fn judge(
        &self,
        mut asked: Vec<(usize, usize)>,
        claims: Vec<Claim<Set>>,
        no: impl FnMut(usize),
    ) {
        asked.sort_unstable();
        asked.dedup();
        judge(
            self.order,
            asked,
            claims,
            |set| self.furthest(set),
            |set, pass| self.yes(set, pass),
            no,
        );
    }

    fn furthest(&self, set: Set) -> usize {
        let regions = self.regions;
        match set {
            Set::Uses(region) => regions.last_known_use(region),
            Set::LastUse(region) => regions.last(region),
            Set::Region(region) => regions.last(region).max(regions.last_beginning(region)),
            Set::Node(place) => place,
        }
    }

    fn yes(&self, set: Set, pass: &Pass) -> Mask {
        let regions = self.regions;
        match set {
            Set::Uses(region) => pass.before_all(regions.uses(region)),
            Set::LastUse(region) => pass.one_or_before_any(regions.until(region)),
            Set::Region(region) => {
                let begins = pass.one_or_before_any(regions.after(region));
                both(begins, pass.before_all(regions.until(region)))
            }
            Set::Node(place) => pass.before_all(&[place]),
        }
    }
}
