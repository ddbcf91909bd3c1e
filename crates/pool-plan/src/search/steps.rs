//! The common interface of the exact searches. Each search is a state machine that runs a given
//! number of steps at a time.

/// The result of a search for its capacity.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Outcome {
    /// A plan fits the capacity.
    Found,
    /// No plan fits the capacity.
    Exhausted,
    /// The search has not decided the question yet.
    Paused,
    /// The search will not decide the question, because its path from the root needs too much
    /// memory.
    Abandoned,
}

/// An exact search for a plan within a capacity.
pub(crate) trait Steps {
    /// Returns the offsets of the plan that was found.
    fn offsets(&self) -> &[u64];

    /// Returns, for each section, how often its items could not fit. The list is empty for a search
    /// whose failures no other search uses.
    fn failures(&self) -> &[u64] {
        &[]
    }

    /// Returns the capacity of the search.
    fn capacity(&self) -> u64;

    /// Returns the number of placements that were tried.
    fn steps(&self) -> u64;

    /// Returns the number of items and sections that were read, which determines the running time.
    fn work(&self) -> u64;

    /// Tries placements until the total number of `steps` or the total amount of `work` is reached.
    fn run(&mut self, steps: u64, work: u64) -> Outcome;
}
