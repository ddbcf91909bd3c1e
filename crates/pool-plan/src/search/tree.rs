//! Depth-first search over canonical plans. The search is a state machine that runs for a given
//! number of steps at a time.
//!
//! The search tree contains two kinds of vertices. At a choice, the search decides which of several
//! items to place next, and at least one of these options must lead to a plan. At a split, the
//! problem is divided at times that no unplaced item spans, and each part must lead to a plan. The
//! parts are independent, so a dead end in one part does not make the search repeat its work in
//! another part.

use std::ops::Range;

use super::candidates::Key;
use super::instance::Instance;
use super::ranks::Ranks;
use super::state::{Mark, State};
use super::steps::{Outcome, Steps};

/// The maximum amount of memory that the undo log of a path from the root may occupy, measured in
/// words. The maximum equals 128 MiB.
const MOST_WORDS: usize = 1 << 25;
/// The number of words that the search stores for each value that a placement changes.
const WORDS_KEPT: usize = 4;

/// A subproblem that consists of unplaced items and the sections that contain them.
#[derive(Clone, Copy, Debug)]
struct Subproblem {
    /// The positions of the unplaced items. The range may also contain placed items.
    items: (usize, usize),
    sections: (u32, u32),
    /// The number of unplaced items.
    count: usize,
}

impl Subproblem {
    fn range(&self) -> Range<usize> {
        self.items.0..self.items.1
    }
}

/// A vertex on the path from the root.
#[derive(Debug)]
enum Vertex {
    /// A choice between several candidates. At least one candidate must lead to a plan.
    Choice {
        part: Subproblem,
        /// The lowest key of the next candidate, or `None` if there are no further candidates.
        next: Option<Key>,
        /// The lowest end of any unplaced item. Only items whose lowest offset is below it are
        /// candidates.
        lowest_top: u64,
        /// The currently placed candidate.
        placed: Option<(u32, Mark)>,
    },
    /// A split. Each part of the split must lead to a plan.
    Parts { first: usize, next: usize, renewed: usize, key: Key },
}

/// A depth-first search for a plan within a capacity.
#[derive(Debug)]
pub(crate) struct Search<'a> {
    state: State<'a>,
    ranks: Ranks,
    /// The previous ranks of all items whose ranks have changed for a part.
    renewed: Vec<(u32, u32)>,
    path: Vec<Vertex>,
    parts: Vec<Subproblem>,
    offsets: Vec<u64>,
    outcome: Outcome,
    /// The number of placements that the search has tried.
    steps: u64,
}

impl<'a> Search<'a> {
    /// Creates a search that prefers items with low ranks.
    // Uncounted: the loop needs no counter because the function makes only one pass over the
    // instance. An instance contains up to 4,000,000 pairs of conflicting items.
    pub(crate) fn new(instance: &'a Instance, capacity: u64, ranks: Ranks) -> Self {
        let mut search = Self {
            state: State::new(instance, capacity, &ranks),
            ranks,
            renewed: Vec::new(),
            path: Vec::new(),
            parts: Vec::new(),
            offsets: instance.items.iter().map(|item| item.fixed.unwrap_or(0)).collect(),
            outcome: Outcome::Paused,
            steps: 0,
        };
        if !search.state.is_possible() {
            search.outcome = Outcome::Exhausted;
            return search;
        }
        let sections = (0, crate::adjacency::index(instance.section_count));
        search.split(sections, sections, (0, 0));
        search
    }

    fn step(&mut self) {
        let Some(Vertex::Choice { part, next, lowest_top, placed }) = self.path.last_mut() else {
            self.outcome = if self.path.is_empty() { Outcome::Exhausted } else { self.outcome };
            return;
        };
        if WORDS_KEPT * self.state.kept() > MOST_WORDS {
            self.outcome = Outcome::Abandoned;
            return;
        }
        let part = *part;
        let candidate = next.and_then(|from| self.state.next(part.range(), from));
        let candidate = candidate.filter(|(key, _)| key.0 < *lowest_top);
        let Some((key, item)) = candidate else {
            self.fail();
            return;
        };
        // If an item can be placed without blocking any other item, this placement is the only
        // option that the search must try.
        *next = (!self.state.is_uncovered(item)).then_some((key.0, key.1 + 1));
        let (mark, possible) = self.state.place(item, part.sections);
        if !possible {
            self.state.undo(item, mark);
            return;
        }
        *placed = Some((item, mark));
        let (first, end) = self.state.instance.hulls[item as usize];
        self.state.work().count((end - first) as usize);
        if (first + 1..end).any(|boundary| !self.state.is_crossed(boundary as usize)) {
            self.split(part.sections, (first, end), key);
            return;
        }
        self.enter(Subproblem { count: part.count - 1, ..part }, key);
    }

    /// Splits a part at all boundaries between the sections of `hull` that no unplaced item
    /// crosses, and continues with each piece separately. There must be no such boundary outside
    /// `hull`.
    fn split(&mut self, sections: (u32, u32), hull: (u32, u32), key: Key) {
        let (first, renewed) = (self.parts.len(), self.renewed.len());
        let mut begin = sections.0;
        self.state.work().count((hull.1 - hull.0) as usize);
        for boundary in (hull.0 + 1..hull.1).chain([sections.1]) {
            if boundary == sections.1 || !self.state.is_crossed(boundary as usize) {
                self.add_part((begin, boundary));
                begin = boundary;
            }
        }
        self.parts[first..].sort_by_key(|part| part.count);
        // The ranks before an update cannot be compared with the ranks after it.
        let key = if self.ranks.is_renewed() { (key.0, 0) } else { key };
        self.path.push(Vertex::Parts { first, next: first, renewed, key });
        self.succeed();
    }

    /// Adds a part unless all of its items have been placed.
    fn add_part(&mut self, sections: (u32, u32)) {
        let range = self.state.range(sections);
        let (count, _) = self.state.count_and_top(range.clone());
        if count == 0 {
            return;
        }
        if self.ranks.is_renewed() {
            let mut items: Vec<u32> = self.state.unplaced(range.clone()).collect();
            let Self { ranks, state, renewed, .. } = self;
            ranks.renew(state.instance, state.open(), &mut items, renewed, state.work());
            items.iter().for_each(|&item| state.set_rank(item, ranks.of(item)));
        }
        self.parts.push(Subproblem { items: (range.start, range.end), sections, count });
    }

    /// Prepares the choice of the next item of `part`. A candidate's key must be at least that of
    /// the previous item. A candidate is omitted if another unplaced item fits completely below it.
    fn enter(&mut self, part: Subproblem, key: Key) {
        if part.count == 0 {
            self.succeed();
            return;
        }
        let (_, lowest_top) = self.state.count_and_top(part.range());
        self.path.push(Vertex::Choice { part, next: Some(key), lowest_top, placed: None });
    }

    /// Backtracks from a choice without candidates to the last choice with untried candidates.
    // Uncounted: the loop needs no counter because the function visits only vertices on the path.
    // Each vertex was counted when it was added.
    fn fail(&mut self) {
        while let Some(vertex) = self.path.pop() {
            match vertex {
                Vertex::Choice { .. } => {}
                Vertex::Parts { first, renewed, .. } => {
                    self.parts.truncate(first);
                    self.restore(renewed);
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
                Vertex::Choice { placed, .. } => {
                    if let Some((item, mark)) = placed.take() {
                        self.offsets[item as usize] = self.state.lowest[item as usize];
                        self.state.undo(item, mark);
                    }
                    self.path.pop();
                }
                Vertex::Parts { first, next, renewed, key } => {
                    if *next < self.parts.len() {
                        let (part, key) = (self.parts[*next], *key);
                        *next += 1;
                        self.enter(part, key);
                        return;
                    }
                    let (first, renewed) = (*first, *renewed);
                    self.parts.truncate(first);
                    self.restore(renewed);
                    self.path.pop();
                }
            }
        }
        self.outcome = Outcome::Found;
    }

    /// Restores the ranks that have changed since the list of previous ranks had the given length.
    // Uncounted: the loop needs no counter because restoring the ranks takes as long as changing
    // them, which has already been counted.
    fn restore(&mut self, kept: usize) {
        for (item, rank) in self.renewed.drain(kept..).rev() {
            self.ranks.restore(item, rank);
            self.state.set_rank(item, rank);
        }
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
