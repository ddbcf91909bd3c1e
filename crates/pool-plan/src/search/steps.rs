//! What all exact searches have in common: each is a machine that is run a number of steps at a time.

/// What a search has found out about the capacity that it searches.
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
    /// The offsets of the plan that was found.
    fn offsets(&self) -> &[u64];

    /// For each section, how often it was the one whose items could not fit; nothing of a search that no other goes by.
    fn failures(&self) -> &[u64] {
        &[]
    }

    /// The capacity that is searched.
    fn capacity(&self) -> u64;

    /// Returns how many placements were tried.
    fn steps(&self) -> u64;

    /// Returns how many items and sections were looked at, which is what the time goes into.
    fn work(&self) -> u64;

    /// Tries placements until `steps` were tried in all, or `work` was done in all.
    fn run(&mut self, steps: u64, work: u64) -> Outcome;
}
