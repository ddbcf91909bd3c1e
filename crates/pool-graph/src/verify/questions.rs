//! Queries about the order in which a graph's nodes use regions. One kind of query asks whether the
//! graph uses one region before another. The other kind of query asks whether a region owns its
//! bytes at the time of a given access.

use super::lives::Lives;
use super::order::Order;
use super::reach::{Claim, Mask, Pass, judge};
use super::regions::Regions;

/// A graph's node order and a layout's regions, prepared for queries.
#[derive(Debug)]
pub(super) struct Questions<'a> {
    order: &'a Order,
    regions: &'a Regions<'a>,
}

/// A set of nodes that a node must reach along paths of full edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Set {
    /// All known uses of a region. Each of these uses must follow the node.
    Uses(usize),
    /// The last uses of a region. The node must be one of these uses or precede one of them.
    LastUse(usize),
    /// The nodes in a region's `after` list. The node must be in this list or precede a node in it.
    Beginning(usize),
    /// The single node at a position.
    Node(usize),
}

/// The nodes of a region at which the paths must start.
#[derive(Clone, Copy, Debug)]
enum SourceNodes {
    /// The nodes in the region's `after` list.
    Beginnings,
    /// The known uses of the region.
    Uses,
}

impl SourceNodes {
    /// Returns the number that identifies the region's source nodes in a claim.
    fn of(self, region: usize) -> usize {
        region * 2 + self as usize
    }
}

impl<'a> Questions<'a> {
    pub(super) fn new(order: &'a Order, regions: &'a Regions<'a>) -> Self {
        Self { order, regions }
    }

    /// Returns the lifetimes of all regions. `sharing` contains the regions that share bytes with
    /// others. For each region in `sharing`, the edges must show that all known uses occur between
    /// `after` and `until`. The edges must also show that the region does not end before it begins.
    pub(super) fn lives(&self, sharing: &[usize]) -> Lives {
        let regions = self.regions;
        let (mut asked, mut claims) = (Vec::new(), Vec::with_capacity(sharing.len() * 4));
        // Claims about regions have numbers below `layout.len()`. Claims about nodes in `until`
        // lists are numbered from `layout.len()` upward.
        let (mut last_uses, mut next) = (Vec::new(), regions.layout.len());
        for &region in sharing {
            let begin = SourceNodes::Beginnings.of(region);
            let end = SourceNodes::Uses.of(region);
            asked.extend(regions.after(region).iter().map(|&node| (node, begin)));
            asked.extend(regions.uses(region).iter().map(|&node| (node, end)));
            claims.push(Claim { owner: begin, set: Set::Uses(region), who: region });
            claims.push(Claim { owner: begin, set: Set::LastUse(region), who: region });
            claims.push(Claim { owner: end, set: Set::LastUse(region), who: region });
            for &place in regions.until(region) {
                claims.push(Claim { owner: begin, set: Set::Node(place), who: next });
                last_uses.push((region, place, next));
                next += 1;
            }
        }
        let mut holds = vec![true; next];
        self.judge(asked, claims, |who| holds[who] = false);
        let is_shown = |region: usize| holds[region];
        // A node that does not follow every node in the region's `after` list is not counted as a
        // use.
        let is_none =
            |&&(region, _, number): &&(usize, usize, usize)| is_shown(region) && !holds[number];
        let none = last_uses.iter().filter(is_none).map(|&(region, place, _)| (region, place));
        Lives::new(regions, none.collect(), is_shown)
    }

    /// Returns a flag for each pair of regions: `true` if the first region is before the second.
    /// One region is before another if all of its last uses complete before the other region
    /// begins. The edges must also confirm the lifetimes of both regions.
    pub(super) fn are_before(&self, lives: &Lives, pairs: &[(usize, usize)]) -> Vec<bool> {
        let mut earlier: Vec<usize> = pairs.iter().map(|&(earlier, _)| earlier).collect();
        earlier.sort_unstable();
        earlier.dedup();
        let last_uses = |region| lives.ends(region).iter().map(move |&place| (place, region));
        let asked = earlier.into_iter().flat_map(last_uses).collect();
        let claim = |(who, &(owner, later)): (usize, &(usize, usize))| Claim {
            owner,
            set: Set::Beginning(later),
            who,
        };
        let claims = pairs.iter().enumerate().map(claim).collect();
        let are_shown =
            |&(one, other): &(usize, usize)| lives.is_shown(one) && lives.is_shown(other);
        let mut before: Vec<bool> = pairs.iter().map(are_shown).collect();
        self.judge(asked, claims, |who| before[who] = false);
        before
    }

    /// Returns a flag for each access: `true` if the region owns the accessed bytes at that point.
    /// Each access is given as its node's position and the region that contains the accessed bytes.
    pub(super) fn are_timely(&self, accesses: &[(usize, usize)]) -> Vec<bool> {
        let regions = self.regions;
        let first_node = regions.layout.len();
        let (mut asked, mut claims) = (Vec::new(), Vec::with_capacity(accesses.len() * 2));
        for (access, &(place, region)) in accesses.iter().enumerate() {
            let owner = first_node + place;
            asked.push((place, owner));
            claims.push(Claim { owner: region, set: Set::Node(place), who: access });
            claims.push(Claim { owner, set: Set::LastUse(region), who: access });
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
            Set::LastUse(region) => regions.last_until(region),
            Set::Beginning(region) => regions.last_beginning(region),
            Set::Node(place) => place,
        }
    }

    fn yes(&self, set: Set, pass: &Pass) -> Mask {
        let regions = self.regions;
        match set {
            Set::Uses(region) => pass.before_all(regions.uses(region)),
            Set::LastUse(region) => pass.one_or_before_any(regions.until(region)),
            Set::Beginning(region) => pass.one_or_before_any(regions.after(region)),
            Set::Node(place) => pass.before_all(&[place]),
        }
    }
}
