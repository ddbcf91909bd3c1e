//! A problem in the form required by the exact searches. The problem contains the conflicts between
//! items and each item's sections.
//!
//! A section is a set of items that must not share bytes with each other. In an interval problem,
//! the sections are ordered ranges of time. A search may split an interval problem at the boundary
//! between two sections. A graph's sections are antichains and have no order. An item of size 0
//! conflicts with no item and belongs to no section, and the searches ignore it.

use crate::adjacency::{Lists, adjacency, index};
use crate::bits::{BitMatrix, ones};
use crate::item::Item;
use crate::timeline::Timeline;

/// Items, conflicts and sections.
#[derive(Clone, Debug)]
pub(crate) struct Instance {
    /// The items to be placed.
    pub(crate) items: Vec<Item>,
    /// For each item, the items with which it must not share bytes.
    pub(crate) conflicts: Lists,
    /// For each section, the items that belong to it.
    pub(crate) sections: Lists,
    /// `true` if the sections are ordered. If the sections are ordered, each item's sections lie
    /// within the item's hull.
    pub(crate) is_linear: bool,
    /// The number of sections.
    pub(crate) section_count: usize,
    /// For each item, the sections that contain it.
    pub(crate) sections_of: Lists,
    /// For each item, its hull, which extends from the start of the item's first section to the end
    /// of its last section. If the sections are ordered, items with disjoint hulls do not conflict.
    /// If the sections are unordered, the hulls have no meaning.
    pub(crate) hulls: Vec<(u32, u32)>,
    /// The time during which each item blocks other items.
    pub(crate) durations: Vec<u64>,
}

impl Instance {
    /// Creates a timeline's instance. Returns `None` if there are more than `limit` conflicts, or
    /// if the instance is no longer needed.
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

    /// Creates the instance for items with one lifetime each. Returns `None` if there are more than
    /// `limit` conflicts, or if the instance is no longer needed.
    pub(crate) fn of_lifetimes(
        items: &[Item],
        lifetimes: &[(i64, i64)],
        limit: usize,
        is_needed: &dyn Fn() -> bool,
    ) -> Option<Self> {
        Self::of_timeline(&Timeline::of_lifetimes(items, lifetimes), limit, is_needed)
    }

    /// Creates the instance for items whose conflicts are stored in a matrix. Returns `None` if
    /// there are more than `limit` conflicts, or if the instance is no longer needed.
    ///
    /// The first section is `witness`. For each item, the instance also contains a section with
    /// that item and a heavy set of other items. All items in a section conflict with each other.
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

/// Returns a set of mutually conflicting items that contains `item`. Larger items are added before
/// smaller items.
// Uncounted: the loop needs no counter because the function reads only the words of a few rows. The
// caller checks the clock before each call.
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

/// The number of items whose conflicts are listed before the function checks again whether the
/// lists are still needed.
const ITEMS_UNWATCHED: usize = 256;

/// Lists, for each item, every other item that shares a section with it. Returns `None` if there
/// are more than `limit` conflicts, or if the lists are no longer needed. For the first section of
/// each span, the function lists all live items. For the other sections of the span, the function
/// lists only the items that begin there.
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
