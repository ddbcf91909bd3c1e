//! Bundles of items. Treating each bundle as a single item reduces the size of the problem.
//!
//! Items of equal size with consecutive lifetimes form a chain. All items in a chain are placed at
//! the same offset. Items that are live in the same sections form a pile. Each item in a pile lies
//! on top of the item before it. The planner combines bundles into larger chains and piles until no
//! more can be combined. Bundles rule out some plans, but for many problems they lead to better
//! ones. Bundles can reassemble a rectangle that was cut into pieces by straight cuts. A neural
//! network's tensors form chains. Chains are formed before piles, because items of equal size are
//! more likely to belong together than items with equal lifetimes.

use crate::adjacency::{index, indices};
use crate::item::Item;
use crate::timeline::Timeline;
use crate::work::Watch;

/// The maximum number of passes over all items. Deeply nested bundles require more passes, but most
/// passes process only a few items.
const MOST_PASSES: usize = 24;
/// The maximum number of items for which bundles are formed. For a problem of this size, one pass
/// and the initial planning of the bundles together take a few milliseconds.
const MOST_ITEMS: usize = 1 << 15;
/// The index that stands for "no bundle".
const NONE: u32 = u32::MAX;

/// A timeline's items, combined into bundles.
#[derive(Debug)]
pub(crate) struct Bundles {
    /// The items, followed by the bundles. Each bundle comes after all of its parts.
    nodes: Vec<Node>,
    /// The number of nodes that represent items.
    items: usize,
}

/// An item or a bundle.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// The range of sections in which the node is live.
    span: (u32, u32),
    size: u64,
    alignment: u64,
    /// The bundle that contains the node, and the node's offset in that bundle.
    parent: u32,
    offset: u64,
}

impl Bundles {
    /// Combines a timeline's items into bundles. The timeline must not contain gaps or fixed
    /// offsets. Returns `None` if there are too many items, if the timeline contains gaps or fixed
    /// offsets, or if `watch` stops the computation.
    pub(crate) fn of(timeline: &Timeline, watch: &Watch<'_>) -> Option<Self> {
        let items = timeline.items.len();
        if items > MOST_ITEMS || !timeline.is_plain() || !watch.count(items) {
            return None;
        }
        let node = |index: usize| {
            let Item { size, alignment, .. } = timeline.items[index];
            let span = timeline.spans(index).first().copied().unwrap_or_default();
            Node { span, size, alignment, parent: NONE, offset: 0 }
        };
        let mut bundles = Self { nodes: (0..items).map(node).collect(), items };
        // An item of size 0 lies at offset 0 and blocks no other item.
        let mut whole: Vec<u32> =
            indices(items).filter(|&one| bundles.nodes[one as usize].size > 0).collect();
        let mut left = items * MOST_PASSES;
        loop {
            let before = whole.len();
            if left < 8 * before || !watch.count(8 * before) {
                break;
            }
            left -= 8 * before;
            bundles.chain(&mut whole);
            if whole.len() == before {
                bundles.pile(&mut whole);
            }
            if whole.len() == before {
                break;
            }
        }
        Some(bundles)
    }

    /// Returns the outermost bundles and the items that belong to no bundle.
    // Uncounted: the loop needs no counter because the iterator makes only one pass over the nodes.
    // There are at most two nodes per item.
    fn outermost(&self) -> impl Iterator<Item = (usize, &Node)> {
        let nodes = self.nodes.iter().enumerate();
        nodes.filter(|(_, node)| node.parent == NONE && node.size > 0)
    }

    /// Returns the timeline of the outermost bundles (the reduced problem), and the bundles'
    /// lifetimes.
    // Uncounted: the loop needs no counter because the function makes only one pass over the
    // bundles.
    pub(crate) fn timeline(&self) -> (Timeline, Vec<(i64, i64)>) {
        let item = |node: &Node| Item { size: node.size, alignment: node.alignment, fixed: None };
        let items: Vec<Item> = self.outermost().map(|(_, node)| item(node)).collect();
        let lifetime = |node: &Node| (i64::from(node.span.0), i64::from(node.span.1));
        let lifetimes: Vec<(i64, i64)> = self.outermost().map(|(_, node)| lifetime(node)).collect();
        (Timeline::of_lifetimes(&items, &lifetimes), lifetimes)
    }

    /// Returns the number of items, followed by the number of outermost bundles.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.items, self.outermost().count())
    }

    /// Computes the offsets of all items from the outermost bundles' offsets.
    // Uncounted: the loop needs no counter because the function makes only one pass over the nodes.
    pub(crate) fn offsets(&self, outermost: &[u64]) -> Vec<u64> {
        let mut offsets = vec![0; self.nodes.len()];
        for ((node, _), &offset) in self.outermost().zip(outermost) {
            offsets[node] = offset;
        }
        for node in (0..self.nodes.len()).rev() {
            let Node { parent, offset, .. } = self.nodes[node];
            if parent != NONE {
                offsets[node] = offsets[parent as usize] + offset;
            }
        }
        offsets.truncate(self.items);
        offsets
    }

    /// Forms chains. If one node ends when another node of the same size begins, the function
    /// places both nodes at the same offset.
    // Uncounted: the loop needs no counter because the caller, `Bundles::of`, counts the passes.
    fn chain(&mut self, whole: &mut Vec<u32>) {
        // Each entry of `edges` contains a time, the node's size, a flag, and the node's index. The
        // flag is `true` if the node begins at this time.
        let mut edges = Vec::with_capacity(2 * whole.len());
        for &one in whole.iter() {
            let Node { span, size, .. } = self.nodes[one as usize];
            edges.push((span.1, size, false, one));
            edges.push((span.0, size, true, one));
        }
        edges.sort_unstable();
        let mut next = vec![NONE; self.nodes.len()];
        let mut has_previous = vec![false; self.nodes.len()];
        for group in edges.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
            let begins = group.partition_point(|edge| !edge.2);
            for (end, begin) in group[..begins].iter().zip(&group[begins..]) {
                next[end.3 as usize] = begin.3;
                has_previous[begin.3 as usize] = true;
            }
        }
        let firsts: Vec<u32> = whole
            .iter()
            .copied()
            .filter(|&one| next[one as usize] != NONE && !has_previous[one as usize])
            .collect();
        let mut links = Vec::new();
        for first in firsts {
            links.clear();
            let mut one = first;
            while one != NONE {
                links.push((one, 0));
                one = next[one as usize];
            }
            whole.push(self.bundle(&links));
        }
        whole.retain(|&one| self.nodes[one as usize].parent == NONE);
    }

    /// Forms piles of nodes that are live in the same sections.
    // Uncounted: the loop needs no counter because the caller, `Bundles::of`, counts the passes.
    fn pile(&mut self, whole: &mut Vec<u32>) {
        // The function adds nodes with larger alignments first because this order requires less
        // padding.
        let key = |one: &u32| {
            let Node { span, alignment, .. } = self.nodes[*one as usize];
            (span, !alignment, *one)
        };
        whole.sort_unstable_by_key(key);
        let nodes = &self.nodes;
        let is_same =
            |one: &u32, other: &u32| nodes[*one as usize].span == nodes[*other as usize].span;
        let groups: Vec<Vec<u32>> =
            whole.chunk_by(is_same).filter(|group| group.len() > 1).map(<[u32]>::to_vec).collect();
        for group in groups {
            let mut end = 0_u64;
            let layers: Vec<(u32, u64)> = group
                .into_iter()
                .map(|one| {
                    let Node { size, alignment, .. } = self.nodes[one as usize];
                    let offset = end.next_multiple_of(alignment);
                    end = offset + size;
                    (one, offset)
                })
                .collect();
            whole.push(self.bundle(&layers));
        }
        whole.retain(|&one| self.nodes[one as usize].parent == NONE);
    }

    /// Adds a bundle that contains the given nodes at the given offsets.
    // Uncounted: the loop needs no counter because the caller, `Bundles::of`, counts the passes.
    fn bundle(&mut self, parts: &[(u32, u64)]) -> u32 {
        let number = index(self.nodes.len());
        let mut bundle =
            Node { span: (u32::MAX, 0), size: 0, alignment: 1, parent: NONE, offset: 0 };
        for &(part, offset) in parts {
            let node = &mut self.nodes[part as usize];
            (node.parent, node.offset) = (number, offset);
            bundle.span.0 = bundle.span.0.min(node.span.0);
            bundle.span.1 = bundle.span.1.max(node.span.1);
            bundle.size = bundle.size.max(offset + node.size);
            bundle.alignment = bundle.alignment.max(node.alignment);
        }
        self.nodes.push(bundle);
        number
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests: a check that fails panics")]
mod tests {
    use super::Bundles;
    use crate::buffer::Buffer;
    use crate::interval::IntervalProblem;
    use crate::random::Random;
    use crate::timeline::Timeline;
    use crate::work::Watch;

    fn bundles(problem: &IntervalProblem) -> Bundles {
        Bundles::of(&Timeline::new(problem), &Watch::new(&|| true)).unwrap()
    }

    /// Cuts a rectangle into pieces by making a series of straight cuts through random pieces.
    fn cut(count: usize, random: &mut Random) -> Vec<Buffer> {
        let mut pieces = vec![(0_u64, 1_u64 << 20, 1_u64 << 30)];
        while pieces.len() < count {
            let place = random.below(pieces.len());
            let (lower, upper, size) = pieces[place];
            if random.below(2) == 0 && upper - lower > 1 {
                let at = lower + 1 + random.next() % (upper - lower - 1);
                pieces[place].1 = at;
                pieces.push((at, upper, size));
            } else if size > 1 {
                let at = 1 + random.next() % (size - 1);
                pieces[place].2 = at;
                pieces.push((lower, upper, size - at));
            }
        }
        let buffer = |(lower, upper, size)| {
            Buffer::unnamed(i64::try_from(lower).unwrap(), i64::try_from(upper).unwrap(), size)
        };
        pieces.into_iter().map(buffer).collect()
    }

    #[test]
    fn straight_cuts_are_undone() {
        for seed in 0..if cfg!(miri) { 2 } else { 40 } {
            let mut random = Random::new(seed, 1, 0);
            let count = 2 + random.below(if cfg!(miri) { 20 } else { 400 });
            let problem = IntervalProblem::new(cut(count, &mut random)).unwrap();
            let bundles = bundles(&problem);
            assert_eq!(bundles.counts(), (count, 1), "seed {seed}");
            assert_eq!(problem.validate(&bundles.offsets(&[0])), Ok(1 << 30), "seed {seed}");
        }
    }

    /// Stacking the bundles on top of each other produces a valid plan, even with alignments and
    /// buffers of size 0.
    #[test]
    fn bundles_above_each_other_are_a_plan() {
        for seed in 0..if cfg!(miri) { 3 } else { 300 } {
            let mut random = Random::new(seed, 2, 0);
            let count = 1 + random.below(if cfg!(miri) { 12 } else { 60 });
            let buffer = |_| {
                let lower = i64::try_from(random.below(6)).unwrap();
                let upper = lower + 1 + i64::try_from(random.below(3)).unwrap();
                let mut buffer = Buffer::unnamed(lower, upper, random.next() % 4 * 24);
                buffer.alignment = 1 << random.below(6);
                buffer
            };
            let problem = IntervalProblem::new((0..count).map(buffer).collect()).unwrap();
            let bundles = bundles(&problem);
            let (timeline, _) = bundles.timeline();
            let mut end = 0_u64;
            let place = |item: &crate::item::Item| {
                let offset = end.next_multiple_of(item.alignment);
                end = offset + item.size;
                offset
            };
            let outermost: Vec<u64> = timeline.items.iter().map(place).collect();
            let peak = problem.validate(&bundles.offsets(&outermost));
            assert!(peak.as_ref().is_ok_and(|peak| *peak <= end), "seed {seed}: {peak:?}");
        }
    }
}
