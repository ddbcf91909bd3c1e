//! The exact searches' common interface. Each search is a state machine that runs for a given
//! number of steps at a time.

/// The state of a search for a plan within a given capacity.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Outcome {
    /// The search found a plan within the capacity.
    Found,
    /// The search proved that no plan fits within the capacity.
    Exhausted,
    /// The search has neither found a plan nor proved that none exists.
    Paused,
    /// The search stopped without a result because its path from the root became too long for the
    /// available memory.
    Abandoned,
}

/// An exact search for a plan within a capacity.
pub(crate) trait Steps {
    /// Returns the offsets of the plan that the search found.
    fn offsets(&self) -> &[u64];

    /// Returns, for each section, the number of times that its items did not fit within the
    /// capacity. The list is empty if no other search uses this search's failures.
    fn failures(&self) -> &[u64] {
        &[]
    }

    /// Returns the capacity within which the plan must fit.
    fn capacity(&self) -> u64;

    /// Returns the number of placements that the search has tried.
    fn steps(&self) -> u64;

    /// Returns the number of items and sections read so far. The running time is proportional to
    /// the number of checked conflicts.
    fn work(&self) -> u64;

    /// Tries placements until the total number of steps reaches `steps` or the total amount of work
    /// reaches `work`.
    fn run(&mut self, steps: u64, work: u64) -> Outcome;
}
