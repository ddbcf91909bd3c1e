//! The common interface of exact searches: each is a machine that runs a number of steps at a time.

/// The result of a search about its capacity.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Outcome {
    /// A plan fits the capacity.
    Found,
    /// No plan fits the capacity.
    Exhausted,
    /// The search is not decided yet.
    Paused,
    /// The search will not be decided: its path from the root takes too much memory.
    Abandoned,
}

/// An exact search for a plan within a capacity.
pub(crate) trait Steps {
    /// Returns the offsets of the plan that was found.
    fn offsets(&self) -> &[u64];

    /// Returns, for each section, the number of times that its items could not fit; nothing for a
    /// search that no other uses.
    fn failures(&self) -> &[u64] {
        &[]
    }

    /// Returns the capacity of the search.
    fn capacity(&self) -> u64;

    /// Returns the number of placements that were tried.
    fn steps(&self) -> u64;

    /// Returns the number of items and sections that were read, which determines the time.
    fn work(&self) -> u64;

    /// Tries placements until the total of `steps` or of `work` is reached.
    fn run(&mut self, steps: u64, work: u64) -> Outcome;
}
