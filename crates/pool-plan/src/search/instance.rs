//! A problem as the exact search sees it: which items conflict, and in which sections.
//!
//! A section is a set of items of which no two may share bytes. For intervals they are the
//! sections of time, in order, and the search may take the problem apart between them; for a
//! graph they are antichains, in no order. An item without bytes is in nobody's way: it has no
//! conflicts and is in no section, and the search leaves it out.

use crate::adjacency::{Lists, adjacency, index};
use crate::bits::{BitMatrix, ones};
use crate::item::Item;
use crate::timeline::Timeline;

/// Items, conflicts and sections.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    /// The items that are to be placed.
    pub(crate) items: Vec<Item>,
    /// For each item, those it may not share bytes with.
    pub(crate) conflicts: Lists,
    /// For each section, its items.
    pub(crate) sections: Lists,
    /// Whether sections are in an order, in which every item's sections lie within its hull.
    pub(crate) is_linear: bool,
    /// How many sections there are.
    pub(crate) section_count: usize,
    /// For each item, its sections.
    pub(crate) sections_of: Lists,
    /// For each item, the first section and the one after the last. Where sections are in an
    /// order, items of disjoint hulls do not conflict; elsewhere a hull says nothing.
    pub(crate) hulls: Vec<(u32, u32)>,
    /// For each item, how long it is in the way of others.
    pub(crate) durations: Vec<u64>,
}

impl Instance {
    /// The instance of a timeline, unless it has more than `limit` conflicts.
    pub(crate) fn of_timeline(timeline: &Timeline, limit: usize) -> Option<Self> {
        let count = timeline.items.len();
        let spans = |item: usize| {
            let spans = timeline.spans(item);
            if timeline.items[item].size > 0 { spans } else { &[] }
        };
        let pairs = |item: usize| spans(item).iter().flat_map(|&(lower, upper)| lower..upper);
        let memberships: usize = (0..count).map(|item| pairs(item).count()).sum();
        if memberships > limit {
            return None;
        }
        let by_section = (0..count).flat_map(|item| pairs(item).map(move |one| (one, item)));
        let sections = adjacency(timeline.sections, by_section);
        let by_item = (0..count).flat_map(|item| pairs(item).map(move |one| (item, one)));
        let sections_of = adjacency(count, by_item);
        let hull = |item: usize| {
            let (first, last) = (spans(item).first(), spans(item).last());
            (first.map_or(0, |span| index(span.0)), last.map_or(0, |span| index(span.1)))
        };
        let conflicts = conflicts(count, &sections, &sections_of, limit)?;
        Some(Self {
            items: timeline.items.clone(),
            conflicts,
            sections,
            is_linear: true,
            section_count: timeline.sections,
            sections_of,
            hulls: (0..count).map(hull).collect(),
            durations: timeline.durations.clone(),
        })
    }

    /// The instance of items with a matrix of conflicts, unless there are more than `limit`.
    ///
    /// Its sections are `witness` and, for each item, a heavy set of conflicting items around it.
    pub(crate) fn of_conflicts(
        items: &[Item],
        matrix: &BitMatrix,
        witness: &[usize],
        limit: usize,
    ) -> Option<Self> {
        let count = items.len();
        let has_bytes = |&item: &usize| items[item].size > 0;
        let rivals = |item: usize| {
            matrix.columns(item).filter(move |one| has_bytes(&item) && has_bytes(one))
        };
        let degrees = (0..count).map(|item| rivals(item).count());
        let degrees: Vec<usize> = degrees.collect();
        if degrees.iter().sum::<usize>() > limit {
            return None;
        }
        let pairs = (0..count).flat_map(|item| rivals(item).map(move |one| (item, one)));
        let conflicts = adjacency(count, pairs);
        let mut cliques: Vec<Vec<u32>> =
            (0..count).filter(has_bytes).map(|item| clique(items, matrix, item)).collect();
        cliques.push(witness.iter().copied().map(index).collect());
        cliques.iter_mut().for_each(|clique| clique.sort_unstable());
        cliques.sort_unstable();
        cliques.dedup();
        let members = || {
            let each = cliques.iter().enumerate();
            each.flat_map(|(section, clique)| {
                clique.iter().map(move |&item| (section, item as usize))
            })
        };
        Some(Self {
            items: items.to_vec(),
            conflicts,
            sections: adjacency(cliques.len(), members()),
            is_linear: false,
            section_count: cliques.len(),
            sections_of: adjacency(count, members().map(|(section, item)| (item, section))),
            hulls: vec![(0, 1); count],
            durations: degrees.iter().map(|&degree| degree as u64 + 1).collect(),
        })
    }
}

/// A set of items with `item` of which each conflicts with each, taking the largest first.
fn clique(items: &[Item], matrix: &BitMatrix, item: usize) -> Vec<u32> {
    let mut clique = vec![index(item)];
    let mut common = matrix.row(item).to_vec();
    while let Some(next) = ones(&common).max_by_key(|&one| items[one].size) {
        if items[next].size == 0 {
            break;
        }
        clique.push(index(next));
        common.iter_mut().zip(matrix.row(next)).for_each(|(word, other)| *word &= other);
    }
    clique
}

/// For each item, those that share a section with it, unless there are more than `limit`.
fn conflicts(count: usize, sections: &Lists, sections_of: &Lists, limit: usize) -> Option<Lists> {
    let mut conflicts = Lists::new();
    let mut met = vec![u32::MAX; count];
    for item in 0..count {
        met[item] = index(item);
        for &section in sections_of.row(item) {
            for &other in sections.row(section as usize) {
                if met[other as usize] != index(item) {
                    met[other as usize] = index(item);
                    conflicts.add(other);
                }
            }
        }
        conflicts.end_row();
        if conflicts.len() > limit {
            return None;
        }
    }
    Some(conflicts)
}
