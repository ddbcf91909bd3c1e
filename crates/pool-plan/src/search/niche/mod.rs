//! A depth-first search that fills niches, which are the lowest free levels in the skyline of a
//! strip-packing problem. In each step, the search chooses which item to place on the floor of one
//! section.
//!
//! At each vertex, the search selects one section and its floor, which is the lowest offset of the
//! section's unplaced items. The floor is a niche of the skyline. Algorithms for strip packing use
//! such niches to check vertical positions (Côté, Dell'Amico, and Iori 2014). The search tries to
//! place each of the items that can begin at the floor. As a last option, the search leaves the
//! floor empty. If the floor stays empty, each item that could begin at the floor must rest on
//! another unplaced item.
//!
//! If a plan exists, the search never misses it. Among all plans that are consistent with a vertex,
//! consider the plan with the smallest sum of offsets. Assume that no item that can begin at the
//! floor actually begins there. Under this assumption, each item that can begin at the floor rests
//! on another item. An item that rests on nothing could be moved down. Any vertex that is
//! consistent with a plan therefore has a child that is also consistent with a plan.
//!
//! A section may be selected only if no unplaced item fits underneath the items that can begin at
//! its floor. A section with the lowest floor can always be selected. Apart from this restriction,
//! the search may choose any section. This freedom is a niche search's advantage over a search that
//! places items in order of their offsets. The niche search focuses on the sections that have
//! failed most often (weighted degrees, Boussemart et al. 2004). Focusing on failed sections keeps
//! the search from repeating their failures for each arrangement of the items in distant sections.
//! The search restarts with different preferences after a number of dead ends that increases with
//! each restart. The failure weights are kept for a number of restarts and then reset.

use super::instance::Instance;
use super::skyline::Skyline;
use super::steps::{Outcome, Steps};
use crate::adjacency::index;
use crate::plan::as_float;
use crate::random::Random;

/// The number of dead ends before the search's first restart.
const FIRST_DEAD_ENDS: f64 = 200.0;
/// The number of dead ends between two restarts grows by this factor.
const PATIENCE_GROWTH: f64 = 1.04;
/// The number of restarts before the weights are reset. After many restarts, the weights might have
/// led the search away from all plans that fit.
const MEMORY: usize = 64;
/// The factor by which the number of dead ends before the first restart grows each time the weights
/// are reset.
const MEMORY_GROWTH: f64 = 1.25;
/// The share of the capacity that is added to each section's slack, so that small differences in
/// slack do not matter.
const LITTLE_SLACK: f64 = 1.0 / 1024.0;
/// The amount of random noise added to the preferences once each preference has been tried without
/// noise.
const NOISE: f64 = 0.6;
/// The maximum number of changes on a path from the root. The search restarts if there are more
/// changes. The maximum number of changes occupies 96 MiB of memory.
const MOST_CHANGES: usize = 1 << 22;

/// The rule that selects a section at each vertex.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Focus {
    /// Selects a section that has little slack, many failures, and a floor below the ends of all
    /// unplaced items.
    Failures,
    /// Selects the section with the lowest floor.
    Floor,
    /// Selects a section that has little slack, many failures, and a floor below the ends of the
    /// unplaced items around it.
    Neighbourhood,
}

/// All rules for selecting sections.
pub(crate) const FOCUSES: [Focus; 3] = [Focus::Failures, Focus::Neighbourhood, Focus::Floor];

/// The measure that determines which items are tried first.
#[derive(Clone, Copy, Debug)]
enum Preference {
    Lifetime,
    Area,
    FailuresAndLifetime,
    Size,
}

const PREFERENCES: [Preference; 4] =
    [Preference::Lifetime, Preference::Area, Preference::FailuresAndLifetime, Preference::Size];

/// A range of sections.
type Range = (u32, u32);

/// A vertex on the path from the root.
#[derive(Debug)]
enum Vertex {
    /// A choice among the candidates for the section's floor, including the option to leave the
    /// floor empty.
    Choice {
        part: Range,
        section: u32,
        /// The candidates, stored as a range of indices in `lists`.
        candidates: (usize, usize),
        /// The index of the next candidate in `lists`. If the index equals the end of the range,
        /// the next option is to leave the floor empty. If the index lies past the end of the
        /// range, all options have been tried.
        next: usize,
        /// The number of changes that had been made to the plan before this choice.
        changes: usize,
    },
    /// A split. Each part of the split must have a plan.
    Parts { first: usize, next: usize },
}

/// A niche search for a plan within a given capacity.
#[derive(Debug)]
pub(crate) struct NicheSearch<'a> {
    skyline: Skyline<'a>,
    focus: Focus,
    random: Random,
    /// The preference for each item. Items with high preferences are tried first.
    preferences: Vec<f64>,
    path: Vec<Vertex>,
    lists: Vec<u32>,
    parts: Vec<Range>,
    /// The number of changes made to the plan at the root.
    root: usize,
    outcome: Outcome,
    restarts: usize,
    /// The number of dead ends since the last restart.
    dead_ends: f64,
    /// The number of dead ends before the search restarts.
    patience: f64,
    /// The number of dead ends before the first restart that follows a reset of the weights.
    first_patience: f64,
    /// The number of placements that the search has tried.
    steps: u64,
    /// For each item, the lowest top of any of its sections, and the value that `choices` had when
    /// this top was computed.
    least_tops: Vec<(u64, u64)>,
    /// The number of times that the search has selected a section.
    choices: u64,
}

impl<'a> NicheSearch<'a> {
    /// Creates a search. The instance's sections must be ordered.
    // Uncounted: the loop needs no counter because the function makes only one pass over the
    // instance. An instance contains up to 4,000,000 pairs of conflicting items.
    pub(crate) fn new(instance: &'a Instance, capacity: u64, focus: Focus, random: Random) -> Self {
        let mut skyline = Skyline::new(instance, capacity);
        let fits = |(item, &lowest): (usize, &u64)| lowest + instance.items[item].size <= capacity;
        let is_possible = skyline.lowest.iter().enumerate().all(fits) && skyline.check(true);
        let mut search = Self {
            skyline,
            focus,
            random,
            preferences: vec![0.0; instance.items.len()],
            path: Vec::new(),
            lists: Vec::new(),
            parts: Vec::new(),
            root: 0,
            outcome: if is_possible { Outcome::Paused } else { Outcome::Exhausted },
            restarts: 0,
            dead_ends: 0.0,
            patience: FIRST_DEAD_ENDS,
            first_patience: FIRST_DEAD_ENDS,
            steps: 0,
            least_tops: vec![(0, 0); instance.items.len()],
            choices: 0,
        };
        if is_possible {
            search.root = search.skyline.changes();
            search.begin();
        }
        search
    }

    /// Restarts the search at the root with different preferences.
    fn restart(&mut self) {
        self.skyline.undo(self.root);
        self.path.clear();
        self.lists.clear();
        self.parts.clear();
        self.restarts += 1;
        self.dead_ends = 0.0;
        self.patience *= PATIENCE_GROWTH;
        if self.restarts % MEMORY == 0 {
            self.skyline.forget();
            self.first_patience *= MEMORY_GROWTH;
            self.patience = self.first_patience;
        }
        self.begin();
    }

    fn begin(&mut self) {
        let instance = self.skyline.instance;
        let preference = PREFERENCES[self.restarts % PREFERENCES.len()];
        let noise = if self.restarts < PREFERENCES.len() { 0.0 } else { NOISE };
        self.skyline.work().count(instance.items.len());
        for item in 0..instance.items.len() {
            let lifetime = as_float(instance.durations[item]);
            let size = as_float(instance.items[item].size);
            let key = match preference {
                Preference::Lifetime => lifetime,
                Preference::Area => lifetime * size,
                Preference::FailuresAndLifetime => {
                    let sections = self.skyline.work().over(instance.sections_of.row(item)).iter();
                    let weights = sections.map(|&section| self.skyline.weight(section));
                    weights.fold(0.0, f64::max) * lifetime.sqrt()
                }
                Preference::Size => size,
            };
            self.preferences[item] = key * (1.0 + noise * (self.random.fraction() - 0.5));
        }
        self.split((0, index(instance.section_count)));
    }

    fn step(&mut self) {
        let Some(Vertex::Choice { part, section, candidates, next, changes }) =
            self.path.last_mut()
        else {
            self.outcome = if self.path.is_empty() { Outcome::Exhausted } else { self.outcome };
            return;
        };
        let (part, section, (first, end)) = (*part, *section, *candidates);
        self.skyline.undo(*changes);
        if *next > end {
            self.fail(first);
            return;
        }
        let place = *next;
        *next += 1;
        if place == end {
            if self.skyline.leave(section, &self.lists[first..end]) {
                self.enter(part);
            }
            return;
        }
        let item = self.lists[place];
        if self.skyline.is_uncovered(item) {
            // If an item can be placed without blocking any other item, the search needs to try
            // only this placement.
            *next = end + 1;
        }
        if !self.skyline.place(item) {
            return;
        }
        let (first, end) = self.skyline.instance.hulls[item as usize];
        self.skyline.work().count((end - first) as usize);
        if (first + 1..end).any(|boundary| self.skyline.is_cut(boundary)) {
            self.split(part);
        } else {
            self.enter(part);
        }
    }

    /// Splits a part into pieces and continues with each piece separately. Pieces with few sections
    /// come first.
    fn split(&mut self, (begin, end): Range) {
        let first = self.parts.len();
        let mut piece_begin = begin;
        self.skyline.work().count((end - begin) as usize);
        for boundary in begin + 1..=end {
            if boundary < end && !self.skyline.is_cut(boundary) {
                continue;
            }
            if (piece_begin..boundary).any(|section| self.skyline.floor(section).is_some()) {
                self.parts.push((piece_begin, boundary));
            }
            piece_begin = boundary;
        }
        self.parts[first..].sort_by_key(|part| part.1 - part.0);
        self.path.push(Vertex::Parts { first, next: first });
        self.succeed();
    }

    /// Selects a section of a part and lists the items that can begin at that section's floor.
    // Uncounted: the loop needs no counter because the candidates are counted when they are listed.
    fn enter(&mut self, part: Range) {
        let Some(section) = self.section(part) else {
            self.succeed();
            return;
        };
        let first = self.lists.len();
        self.lists.extend(self.skyline.candidates(section));
        let key = |item: &u32| self.preferences[*item as usize];
        self.lists[first..].sort_by(|one, other| key(other).total_cmp(&key(one)));
        let (candidates, changes) = ((first, self.lists.len()), self.skyline.changes());
        self.path.push(Vertex::Choice { part, section, candidates, next: first, changes });
    }

    /// Returns the next section of a part to search, or `None` if all items have been placed.
    fn section(&mut self, (begin, end): Range) -> Option<u32> {
        self.skyline.work().count((end - begin) as usize);
        self.choices += 1;
        let lowest_top = (begin..end).map(|section| self.skyline.top(section)).min()?;
        let mut best = None;
        for section in begin..end {
            let Some(floor) = self.skyline.floor(section) else { continue };
            if floor >= lowest_top && self.focus != Focus::Neighbourhood {
                continue;
            }
            let badness = self.badness(section, floor);
            if best.is_none_or(|(least, _)| badness < least)
                && (floor < lowest_top || self.is_lowest_around(section, floor))
            {
                best = Some((badness, section));
            }
        }
        best.map(|(_, section)| section)
    }

    /// Returns a section's badness. The search selects the section for which `badness` is lowest.
    fn badness(&self, section: u32, floor: u64) -> f64 {
        let (slack, capacity) =
            (as_float(self.skyline.slack(section)), as_float(self.skyline.capacity));
        match self.focus {
            // If several sections have the same floor, the section with the least slack is
            // preferred.
            Focus::Floor => as_float(floor) + slack / (2.0 * capacity + 1.0),
            Focus::Failures | Focus::Neighbourhood => {
                (slack + capacity * LITTLE_SLACK) / self.skyline.weight(section)
            }
        }
    }

    /// Returns `true` if no unplaced item fits below an item that can begin at a section's floor.
    /// The tops of an item's sections are read only once per selection, because a long-lived item
    /// is a candidate in many sections.
    fn is_lowest_around(&mut self, section: u32, floor: u64) -> bool {
        let Self { skyline, least_tops, choices, .. } = self;
        skyline.candidates(section).all(|item| {
            let (choice, top) = &mut least_tops[item as usize];
            if *choice != *choices {
                let sections = skyline.work().over(skyline.instance.sections_of.row(item as usize));
                let least = sections.iter().map(|&section| skyline.top(section)).min();
                (*choice, *top) = (*choices, least.unwrap_or(u64::MAX));
            }
            *top > floor
        })
    }

    /// Backtracks from a choice whose options are exhausted to the last choice with untried
    /// options.
    // Uncounted: the loop needs no counter because the function visits only vertices on the path.
    // Each vertex was counted when it was added.
    fn fail(&mut self, lists: usize) {
        self.dead_ends += 1.0;
        self.skyline.age();
        self.lists.truncate(lists);
        self.path.pop();
        while let Some(&Vertex::Parts { first, .. }) = self.path.last() {
            self.parts.truncate(first);
            self.path.pop();
        }
    }

    /// Keeps the placements of a part whose items have all been placed, and then continues with the
    /// next part.
    // Uncounted: the loop needs no counter because the function visits only vertices on the path.
    // Each vertex was counted when it was added.
    fn succeed(&mut self) {
        while let Some(vertex) = self.path.last_mut() {
            match vertex {
                Vertex::Choice { candidates, .. } => self.lists.truncate(candidates.0),
                Vertex::Parts { next, .. } if *next < self.parts.len() => {
                    let part = self.parts[*next];
                    *next += 1;
                    self.enter(part);
                    return;
                }
                Vertex::Parts { first, .. } => self.parts.truncate(*first),
            }
            self.path.pop();
        }
        self.outcome = Outcome::Found;
    }
}

impl Steps for NicheSearch<'_> {
    fn offsets(&self) -> &[u64] {
        &self.skyline.lowest
    }

    fn capacity(&self) -> u64 {
        self.skyline.capacity
    }

    fn steps(&self) -> u64 {
        self.steps
    }

    fn work(&self) -> u64 {
        self.skyline.work().done()
    }

    fn run(&mut self, steps: u64, work: u64) -> Outcome {
        while self.outcome == Outcome::Paused && self.steps < steps && self.work() < work {
            self.steps += 1;
            if self.dead_ends > self.patience || self.skyline.changes() > MOST_CHANGES {
                self.restart();
            }
            if self.outcome == Outcome::Paused {
                self.step();
            }
        }
        self.outcome
    }
}

#[cfg(test)]
mod tests;
