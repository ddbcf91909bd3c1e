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

#[cfg(test)]
mod tests {
    use super::{Outcome, Steps};
    use crate::buffer::Buffer;
    use crate::interval::IntervalProblem;
    use crate::random::Random;
    use crate::search::{FOCUSES, Instance, LASTING, NicheSearch, Ranker, Search};
    use crate::timeline::Timeline;

    /// The number of steps that no search may reach before its work limit.
    const MANY_STEPS: u64 = 4_000;

    /// Returns a problem that no search solves within a few thousand steps.
    fn tight() -> IntervalProblem {
        let mut random = Random::new(11, 0, 0);
        let mut number = |most| i64::try_from(random.below(most)).unwrap_or(0);
        let buffers = (0..400).map(|_| {
            let lower = number(200);
            Buffer::unnamed(lower, lower + 1 + number(40), 1 + number(1_000).unsigned_abs())
        });
        IntervalProblem::new(buffers.collect()).expect("valid")
    }

    /// A search counts what it reads. If it did not, only its steps would limit its time.
    #[test]
    fn a_search_pauses_at_its_work_limit() {
        let problem = tight();
        let timeline = Timeline::new(&problem);
        let instance = Instance::of_timeline(&timeline, usize::MAX, &|| true).expect("small");
        let (capacity, ranker) = (problem.lower_bound().bytes, Ranker::new(&instance));
        let lasting = (0..LASTING).map(|number| ranker.lasting(number));
        let trees = lasting.map(|ranks| Search::new(&instance, capacity, ranks));
        let trees = trees.map(|search| -> Box<dyn Steps> { Box::new(search) });
        let niches = FOCUSES.map(|focus| -> Box<dyn Steps> {
            Box::new(NicheSearch::new(&instance, capacity, focus, Random::new(1, 2, 3)))
        });
        // One step of this problem reads at least ten items or sections.
        let limit = 10 * MANY_STEPS;
        for (number, mut search) in trees.chain(niches).enumerate() {
            assert_eq!(search.run(MANY_STEPS, limit), Outcome::Paused, "search {number}");
            let (steps, work) = (search.steps(), search.work());
            assert!(work >= limit && steps < MANY_STEPS, "search {number}: {steps} steps, {work}");
        }
    }
}
