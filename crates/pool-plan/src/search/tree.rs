//! Depth-first search over canonical plans. The search is a state machine that runs for a given
//! number of steps at a time.
//!
//! The search tree contains two kinds of vertices. At a choice, the search decides which of several
//! items to place next, and at least one of these options must lead to a plan. At a split, the
//! problem is divided at times that no unplaced item spans, and each part must lead to a plan. The
//! parts are independent, so a dead end in one part does not make the search repeat its work in
//! another part.

use super::instance::Instance;
use super::ranks::Ranks;
use super::state::{Mark, State};
use super::steps::{Outcome, Steps};
use crate::adjacency::indices;

/// The maximum amount of memory that a path from the root may occupy, measured in words. The
/// maximum equals 128 MiB. Each vertex on the path stores a list of its unplaced items.
const MOST_WORDS: usize = 1 << 25;
/// The number of words that the search stores for each value that a placement changes.
const WORDS_KEPT: usize = 4;

/// A subproblem that consists of unplaced items and the sections that contain them. The `items`
/// field is a range of indices in `lists`, which contains the items in order of rank.
#[derive(Clone, Copy, Debug)]
struct Subproblem {
    items: (usize, usize),
    sections: (u32, u32),
}

/// A piece of a part. None of the piece's unplaced items extends into another piece.
#[derive(Clone, Copy, Debug)]
struct Cut {
    sections: (u32, u32),
    /// The end of the piece's range of items in `lists`.
    end: usize,
}

/// A vertex on the path from the root.
#[derive(Debug)]
enum Vertex {
    /// A choice between several candidates. At least one candidate must lead to a plan.
    Choice {
        part: Subproblem,
        /// The length that `lists` had before this vertex was added.
        lists: usize,
        /// The candidates, stored as a range of indices in `lists`.
        candidates: (usize, usize),
        /// The currently placed candidate.
        placed: Option<(u32, Mark)>,
    },
    /// A split. Each part of the split must lead to a plan.
    Parts { first: usize, next: usize, lists: usize, renewed: usize, offset: u64, rank: u32 },
}

/// A depth-first search for a plan within a capacity.
#[derive(Debug)]
pub(crate) struct Search<'a> {
    state: State<'a>,
    ranks: Ranks,
    /// The previous ranks of all items whose ranks have changed for a part.
    renewed: Vec<(u32, u32)>,
    path: Vec<Vertex>,
    lists: Vec<u32>,
    parts: Vec<Subproblem>,
    offsets: Vec<u64>,
    outcome: Outcome,
    /// The number of placements that the search has tried.
    steps: u64,
    /// For each section of the most recently split part, the index of the piece that contains it.
    pieces: Vec<u32>,
    /// The pieces of the most recently split part.
    cuts: Vec<Cut>,
}

impl<'a> Search<'a> {
    /// Creates a search that prefers items with low ranks.
    // Uncounted: the loop needs no counter because the function makes only one pass over the
    // instance. An instance contains up to 4,000,000 pairs of conflicting items.
    pub(crate) fn new(instance: &'a Instance, capacity: u64, ranks: Ranks) -> Self {
        let count = instance.items.len();
        let mut search = Self {
            state: State::new(instance, capacity),
            ranks,
            renewed: Vec::new(),
            path: Vec::new(),
            lists: indices(count).filter(|&item| has_bytes(instance, item)).collect(),
            parts: Vec::new(),
            offsets: instance.items.iter().map(|item| item.fixed.unwrap_or(0)).collect(),
            outcome: Outcome::Paused,
            steps: 0,
            pieces: Vec::new(),
            cuts: Vec::new(),
        };
        if !search.state.is_possible() {
            search.outcome = Outcome::Exhausted;
            return search;
        }
        let ranks = &search.ranks;
        search.lists.sort_unstable_by_key(|&item| ranks.of(item));
        let sections = (0, crate::adjacency::index(instance.section_count));
        let whole = Subproblem { items: (0, search.lists.len()), sections };
        search.split(whole, u32::MAX, 0, 0);
        search
    }

    fn step(&mut self) {
        let Some(Vertex::Choice { part, candidates, placed, .. }) = self.path.last_mut() else {
            self.outcome = if self.path.is_empty() { Outcome::Exhausted } else { self.outcome };
            return;
        };
        if self.lists.len() + WORDS_KEPT * self.state.kept() > MOST_WORDS {
            self.outcome = Outcome::Abandoned;
            return;
        }
        let part = *part;
        self.state.work().count(part.items.1 - part.items.0);
        if candidates.0 == candidates.1 {
            self.fail();
            return;
        }
        let item = self.lists[candidates.0];
        // If an item can be placed without blocking any other item, this placement is the only
        // option that the search must try.
        candidates.0 = if self.state.is_uncovered(item) { candidates.1 } else { candidates.0 + 1 };
        let (mark, possible) = self.state.place(item, part.sections);
        if !possible {
            self.state.undo(item, mark);
            return;
        }
        *placed = Some((item, mark));
        let (offset, rank) = (self.state.lowest[item as usize], self.ranks.of(item));
        let (first, end) = self.state.instance.hulls[item as usize];
        self.state.work().count((end - first) as usize);
        let cut = (first + 1..end).any(|boundary| !self.state.is_crossed(boundary as usize));
        if cut {
            self.split(part, item, offset, rank);
            return;
        }
        let start = self.lists.len();
        for position in part.items.0..part.items.1 {
            if self.lists[position] != item {
                self.lists.push(self.lists[position]);
            }
        }
        let rest = Subproblem { items: (start, self.lists.len()), sections: part.sections };
        self.enter(rest, start, offset, rank);
    }

    /// Splits the unplaced items in `part`, except for `placed`, into pieces, and continues with
    /// each piece separately.
    fn split(&mut self, part: Subproblem, placed: u32, offset: u64, rank: u32) {
        let (lists, first, renewed) = (self.lists.len(), self.parts.len(), self.renewed.len());
        // The ranks before an update cannot be compared with the ranks after it.
        let rank = if self.ranks.is_renewed() { 0 } else { rank };
        self.cut(part, placed);
        let work = self.state.work();
        let mut start = lists;
        for piece in 0..self.cuts.len() {
            let items = (start, self.cuts[piece].end);
            start = items.1;
            if items.0 < items.1 {
                let (instance, open) = (self.state.instance, self.state.open());
                let list = &mut self.lists[items.0..items.1];
                self.ranks.renew(instance, open, list, &mut self.renewed, work);
                self.parts.push(Subproblem { items, sections: self.cuts[piece].sections });
            }
        }
        self.parts[first..].sort_by_key(|part| part.items.1 - part.items.0);
        self.path.push(Vertex::Parts { first, next: first, lists, renewed, offset, rank });
        self.succeed();
    }

    /// Groups the unplaced items in `part`, except for `placed`, into pieces so that no unplaced
    /// item extends from one piece into another. The function appends each piece's items to `lists`
    /// and stores the pieces in `cuts`.
    fn cut(&mut self, part: Subproblem, placed: u32) {
        let Self { state, lists, pieces, cuts, .. } = self;
        let ((first, last), (begin, end)) = (part.items, part.sections);
        state.work().count((end - begin) as usize + 2 * (last - first));
        pieces.clear();
        cuts.clear();
        for section in begin..end {
            if section == begin || !state.is_crossed(section as usize) {
                cuts.push(Cut { sections: (section, section), end: 0 });
            }
            pieces.push(crate::adjacency::index(cuts.len() - 1));
            if let Some(cut) = cuts.last_mut() {
                cut.sections.1 = section + 1;
            }
        }
        let piece = |item: u32| pieces[(state.instance.hulls[item as usize].0 - begin) as usize];
        let open = |&item: &u32| item != placed;
        for &item in lists[first..last].iter().filter(|item| open(item)) {
            cuts[piece(item) as usize].end += 1;
        }
        let mut sum = lists.len();
        for cut in cuts.iter_mut() {
            sum += std::mem::replace(&mut cut.end, sum);
        }
        lists.resize(sum, 0);
        for position in first..last {
            let item = lists[position];
            if open(&item) {
                let place = &mut cuts[piece(item) as usize].end;
                lists[*place] = item;
                *place += 1;
            }
        }
    }

    /// Lists the candidates for the next item of `part`. A candidate must be placed at or above the
    /// previous item's offset. A candidate is omitted if another unplaced item fits completely
    /// below it.
    fn enter(&mut self, part: Subproblem, lists: usize, offset: u64, rank: u32) {
        if part.items.0 == part.items.1 {
            self.succeed();
            return;
        }
        self.state.work().count(2 * (part.items.1 - part.items.0));
        let start = self.lists.len();
        let mut lowest_top = u64::MAX;
        for position in part.items.0..part.items.1 {
            let item = self.lists[position];
            let lowest = self.state.lowest[item as usize];
            lowest_top = lowest_top.min(lowest + self.state.instance.items[item as usize].size);
        }
        for position in part.items.0..part.items.1 {
            let item = self.lists[position];
            let lowest = self.state.lowest[item as usize];
            let later = (lowest, self.ranks.of(item)) >= (offset, rank);
            if lowest < lowest_top && later {
                self.lists.push(item);
            }
        }
        let lowest = &self.state.lowest;
        // The sort is stable, so items at the same offset remain sorted by rank.
        self.lists[start..].sort_by_key(|&item| lowest[item as usize]);
        let candidates = (start, self.lists.len());
        self.path.push(Vertex::Choice { part, lists, candidates, placed: None });
    }

    /// Backtracks from a choice without candidates to the last choice with untried candidates.
    // Uncounted: the loop needs no counter because the function visits only vertices on the path.
    // Each vertex was counted when it was added.
    fn fail(&mut self) {
        while let Some(vertex) = self.path.pop() {
            match vertex {
                Vertex::Choice { lists, .. } => self.lists.truncate(lists),
                Vertex::Parts { first, lists, renewed, .. } => {
                    self.parts.truncate(first);
                    self.lists.truncate(lists);
                    self.ranks.restore(self.renewed.drain(renewed..));
                }
            }
            if let Some(Vertex::Choice { placed, .. }) = self.path.last_mut() {
                if let Some((item, mark)) = placed.take() {
                    self.state.undo(item, mark);
                }
                return;
            }
        }
        self.outcome = Outcome::Exhausted;
    }

    /// Retains the placements in a part in which all items have been placed, then continues with
    /// the next part.
    // Uncounted: the loop needs no counter because the function visits only vertices on the path.
    // Each vertex was counted when it was added.
    fn succeed(&mut self) {
        while let Some(vertex) = self.path.last_mut() {
            match vertex {
                Vertex::Choice { lists, placed, .. } => {
                    let lists = *lists;
                    if let Some((item, mark)) = placed.take() {
                        self.offsets[item as usize] = self.state.lowest[item as usize];
                        self.state.undo(item, mark);
                    }
                    self.lists.truncate(lists);
                    self.path.pop();
                }
                Vertex::Parts { first, next, lists, renewed, offset, rank } => {
                    if *next < self.parts.len() {
                        let (part, offset, rank) = (self.parts[*next], *offset, *rank);
                        *next += 1;
                        let lists = self.lists.len();
                        self.enter(part, lists, offset, rank);
                        return;
                    }
                    let (first, lists, renewed) = (*first, *lists, *renewed);
                    self.parts.truncate(first);
                    self.lists.truncate(lists);
                    self.ranks.restore(self.renewed.drain(renewed..));
                    self.path.pop();
                }
            }
        }
        self.outcome = Outcome::Found;
    }
}

impl Steps for Search<'_> {
    fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    fn failures(&self) -> &[u64] {
        self.state.failures()
    }

    fn capacity(&self) -> u64 {
        self.state.capacity()
    }

    fn steps(&self) -> u64 {
        self.steps
    }

    fn work(&self) -> u64 {
        self.state.work().done()
    }

    fn run(&mut self, steps: u64, work: u64) -> Outcome {
        while self.outcome == Outcome::Paused && self.steps < steps && self.work() < work {
            self.steps += 1;
            self.step();
        }
        self.outcome
    }
}

fn has_bytes(instance: &Instance, item: u32) -> bool {
    instance.items[item as usize].size > 0
}
