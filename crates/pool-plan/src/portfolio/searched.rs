//! Runs a search for a limited amount of work, and reports the result.

use crate::search::{Outcome, Steps};
use crate::work::Limit;

/// The number of search steps between two consecutive clock checks.
const STEPS_UNWATCHED: u64 = 256;
/// The amount of search work between two consecutive clock checks, measured in items and sections.
/// A search runs for about one millisecond between two consecutive checks.
const WORK_UNWATCHED: u64 = 1 << 18;

/// A search's outcome after one round.
pub(super) enum Searched {
    /// A plan within the capacity was found.
    Plan(Vec<u64>),
    /// The search proved that no plan fits within a capacity.
    None { within: u64 },
    /// The search has found no plan yet. For each section, the list contains the number of times
    /// that its items did not fit within the capacity.
    Failures(Vec<u64>),
}

/// Runs a search until it reaches the given number of steps or the given amount of work. The
/// function checks the clock regularly.
pub(super) fn watched(
    search: &mut impl Steps,
    (steps, work): (u64, u64),
    limit: Limit<'_>,
    is_needed: impl Fn() -> bool,
) -> Searched {
    let (last, most_work) = (search.steps() + steps, search.work() + work);
    while search.steps() < last && search.work() < most_work && is_needed() {
        let before = search.steps();
        let next_look = last.min(before + STEPS_UNWATCHED);
        let outcome = search.run(next_look, search.work() + WORK_UNWATCHED);
        limit.monitor.add_steps(search.steps() - before);
        match outcome {
            Outcome::Found => return Searched::Plan(search.offsets().to_vec()),
            Outcome::Exhausted => return Searched::None { within: search.capacity() },
            Outcome::Abandoned => break,
            Outcome::Paused => {}
        }
    }
    Searched::Failures(search.failures().to_vec())
}
