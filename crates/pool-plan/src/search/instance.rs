//! A problem as the exact search needs it: the conflicts of items, and their sections.
//!
//! A section is a set of items that may not share bytes with each other. For intervals, they are
//! the sections of time, in order, and the search may split the problem between them. For a graph,
//! they are antichains, without an order. An item without bytes blocks no other: it has no
//! conflicts and is in no section, and the search leaves it out.

use crate::adjacency::{Lists, adjacency, index};
use crate::bits::{BitMatrix, ones};
use crate::item::Item;
use crate::timeline::Timeline;

/// Items, conflicts and sections.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    /// The items to place.
    pub(crate) items: Vec<Item>,
    /// For each item, those it may not share bytes with.
    pub(crate) conflicts: Lists,
    /// For each section, its items.
    pub(crate) sections: Lists,
    /// `true` if sections are in an order, in which every item's sections lie within its hull.
    pub(crate) is_linear: bool,
    /// The number of sections.
    pub(crate) section_count: usize,
    /// For each item, its sections.
    pub(crate) sections_of: Lists,
    /// For each item, the first section and the one after the last. If sections are in an order,
    /// items of disjoint hulls do not conflict; otherwise a hull has no meaning.
    pub(crate) hulls: Vec<(u32, u32)>,
    /// For each item, the time for which it blocks others.
    pub(crate) durations: Vec<u64>,
}

impl Instance {
    /// Makes the instance of a timeline, unless it has more than `limit` conflicts or is no longer
    /// needed.
    pub(crate) fn of_timeline(
        timeline: &Timeline,
        limit: usize,
        is_needed: &dyn Fn() -> bool,
    ) -> Option<Self> {
        let count = timeline.items.len();
        let spans = |item: usize| {
            let spans = timeline.spans(item);
            if timeline.items[item].size > 0 { spans } else { &[] }
        };
        let pairs = |item: usize| {
            spans(item).iter().flat_map(|&(lower, upper)| lower as usize..upper as usize)
        };
        let lengths = (0..count).flat_map(spans).map(|&(lower, upper)| (upper - lower) as usize);
        if lengths.sum::<usize>() > limit || !is_needed() {
            return None;
        }
        let by_section = (0..count).flat_map(|item| pairs(item).map(move |one| (one, item)));
        let sections = adjacency(timeline.sections, by_section);
        if !is_needed() {
            return None;
        }
        let by_item = (0..count).flat_map(|item| pairs(item).map(move |one| (item, one)));
        let sections_of = adjacency(count, by_item);
        let hull = |item: usize| {
            let (first, last) = (spans(item).first(), spans(item).last());
            (first.map_or(0, |span| span.0), last.map_or(0, |span| span.1))
        };
        if !is_needed() {
            return None;
        }
        let begins =
            (0..count).flat_map(|item| spans(item).iter().map(move |one| (one.0 as usize, item)));
        let beginning = adjacency(timeline.sections, begins);
        let conflicts = conflicts(count, spans, &sections, &beginning, limit, is_needed)?;
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

    /// Makes the instance of items with a matrix of conflicts, unless there are more than `limit`
    /// or it is no longer needed.
    ///
    /// Its sections are `witness` and, for each item, a heavy set of conflicting items around it.
    pub(crate) fn of_conflicts(
        items: &[Item],
        matrix: &BitMatrix,
        witness: &[usize],
        limit: usize,
        is_needed: &dyn Fn() -> bool,
    ) -> Option<Self> {
        let count = items.len();
        let has_bytes = |&item: &usize| items[item].size > 0;
        let rivals = |item: usize| {
            matrix.columns(item).filter(move |one| has_bytes(&item) && has_bytes(one))
        };
        let mut conflicts = Lists::new();
        for item in 0..count {
            if item % ITEMS_UNWATCHED == 0 && !is_needed() {
                return None;
            }
            rivals(item).for_each(|rival| conflicts.add(index(rival)));
            conflicts.end_row();
            if conflicts.len() > limit {
                return None;
            }
        }
        let cliques = (0..count).filter(has_bytes);
        let cliques = cliques.map(|item| is_needed().then(|| clique(items, matrix, item)));
        let mut cliques: Vec<Vec<u32>> = cliques.collect::<Option<_>>()?;
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
            sections: adjacency(cliques.len(), members()),
            is_linear: false,
            section_count: cliques.len(),
            sections_of: adjacency(count, members().map(|(section, item)| (item, section))),
            hulls: vec![(0, 1); count],
            durations: (0..count).map(|item| conflicts.row(item).len() as u64 + 1).collect(),
            conflicts,
        })
    }
}

/// Returns a set of mutually conflicting items with `item`, taking the largest first.
// Uncounted: the words of some rows; the clock is checked before each clique.
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

/// The number of items whose conflicts are listed between two checks whether the lists are still
/// needed.
const ITEMS_UNWATCHED: usize = 256;

/// Lists, for each item, those that share a section with it, unless there are more than `limit` or
/// they are no longer needed. In the first section of each of its spans, these are all live items;
/// after it, those that begin.
fn conflicts<'a>(
    count: usize,
    spans: impl Fn(usize) -> &'a [(u32, u32)],
    sections: &Lists,
    beginning: &Lists,
    limit: usize,
    is_needed: &dyn Fn() -> bool,
) -> Option<Lists> {
    let mut conflicts = Lists::new();
    let mut met = vec![u32::MAX; count];
    for item in 0..count {
        if conflicts.len() > limit || item % ITEMS_UNWATCHED == 0 && !is_needed() {
            return None;
        }
        met[item] = index(item);
        for &(lower, upper) in spans(item) {
            let (lower, upper) = (lower as usize, upper as usize);
            let later = (lower + 1..upper).flat_map(|section| beginning.row(section));
            for &other in sections.row(lower).iter().chain(later) {
                if met[other as usize] != index(item) {
                    met[other as usize] = index(item);
                    conflicts.add(other);
                }
            }
        }
        conflicts.end_row();
    }
    (conflicts.len() <= limit).then_some(conflicts)
}
