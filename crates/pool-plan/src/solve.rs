//! The solver, which prepares the portfolio's input and checks the portfolio's result.

use std::time::Instant;

use crate::adjacency::indices;
use crate::bits::BitMatrix;
use crate::bound::Bound;
use crate::bundles::Bundles;
use crate::error::PlanError;
use crate::graph::{GraphBuffer, Role};
use crate::greedy::{ConflictPlacer, Measures, TimelinePlacer, places_by_name};
use crate::happens_before::HappensBeforeProblem;
use crate::interval::IntervalProblem;
use crate::item::Item;
use crate::operations::Operations;
use crate::options::{Monitor, Options};
use crate::order::precedence;
use crate::overlaps::LazyOverlaps;
use crate::plan::Plan;
use crate::portfolio::{Coarse, Portfolio};
use crate::search::Instance;
use crate::sorting::{sort_by_number, unsigned};
use crate::timeline::Timeline;
use crate::violation::Violation;
use crate::work::{Limit, Watch};

/// The maximum number of conflicting pairs for which a timeline is searched exactly. With more
/// pairs, a single step of the search would take at least a millisecond. Repairs do not need a list
/// of pairs, because they find conflicts on demand.
const TIMELINE_CONFLICT_LIMIT: usize = 4_000_000;
/// The maximum number of conflicting pairs for which a graph is searched exactly or repaired.
const GRAPH_CONFLICT_LIMIT: usize = 20_000_000;

/// The estimated time until a graph's first plan is complete, as a multiple of the time for
/// computing the order relation. The first value applies if no buffers conflict. The second value
/// is added in full if all buffers conflict. If there are many conflicts, handling them takes up
/// most of the time before the first plan.
const FIRST_PLAN_COST: [u64; 2] = [4, 16];
/// The distance between the rows of the order relation that are sampled to estimate the share of
/// conflicting pairs.
const ROWS_A_SAMPLE: usize = 64;

impl IntervalProblem {
    /// Returns the best plan that the solver finds within the budget.
    ///
    /// # Errors
    /// Fails if no plan fits within the capacity, or if the solver does not find one within the
    /// budget. The call also fails if the tolerance is not a ratio of at least 1.
    pub fn solve(&self, options: &Options) -> Result<Plan, PlanError> {
        self.solve_watched(options, &Monitor::new())
    }

    /// Returns the same plan as [`solve`](Self::solve). Another thread may use `monitor` to observe
    /// and stop the planner.
    ///
    /// # Errors
    /// Returns the same errors as [`solve`](Self::solve).
    pub fn solve_watched(&self, options: &Options, monitor: &Monitor) -> Result<Plan, PlanError> {
        self.solve_from(&[], options, monitor)
    }

    /// Solves the problem like [`solve_watched`](Self::solve_watched), but starts from an earlier
    /// plan. `last[i]` is the offset of buffer `i` in the earlier plan, or `None` if the buffer is
    /// new. `last` may contain fewer entries than there are buffers.
    ///
    /// The first plan places the buffers in the order of their earlier offsets and is always
    /// completed. The first plan is no worse than the earlier plan if the problem satisfies two
    /// conditions. Every buffer must have an offset in `last`. No buffer may have a larger size, a
    /// longer lifetime, or a larger alignment than in the earlier plan.
    ///
    /// ```
    /// use pool_plan::{Buffer, IntervalProblem, Monitor, Options, StopReason};
    ///
    /// let options = Options { tolerance: 1.05, ..Options::default() };
    /// let mut buffers: Vec<Buffer> = (0..90).map(|i| Buffer::unnamed(i, i + 5, 64)).collect();
    /// let mut last = Vec::new();
    /// for step in 0..3 {
    ///     buffers[step].size = 32; // few of them change
    ///     let problem = IntervalProblem::new(buffers.clone())?;
    ///     let plan = problem.solve_from(&last, &options, &Monitor::new())?;
    ///     assert_ne!(plan.stopped, StopReason::Budget);
    ///     last = plan.offsets.into_iter().map(Some).collect();
    /// }
    /// # Ok::<(), pool_plan::PlanError>(())
    /// ```
    ///
    /// # Errors
    /// Returns the same errors as [`solve`](Self::solve).
    pub fn solve_from(
        &self,
        last: &[Option<u64>],
        options: &Options,
        monitor: &Monitor,
    ) -> Result<Plan, PlanError> {
        let start = Instant::now();
        options.check()?;
        let timeline = Timeline::new(self);
        let bound = Bound::on(&timeline);
        monitor.set_bound(bound.bytes);
        let coarse = |options: &Options| solve_bundles(&timeline, options, monitor);
        let problem = Given {
            timeline: &timeline,
            begins: self.buffers().iter().map(|buffer| buffer.lower).collect(),
            ends: self.buffers().iter().map(|buffer| buffer.upper).collect(),
            named: places_by_name(self.buffers().iter().map(|buffer| buffer.id.as_str())),
            last,
            coarse: Some(&coarse),
        };
        let plan = problem.solve(bound, start, options, monitor)?;
        checked(plan, |offsets| self.validate(offsets))
    }
}

/// Plans bundles of items. Returns `None` if the number of bundles exceeds half the number of
/// items. Returns the items' offsets.
fn solve_bundles(timeline: &Timeline, options: &Options, monitor: &Monitor) -> Option<Vec<u64>> {
    let start = Instant::now();
    let limit = Limit { deadline: start.checked_add(options.budget), monitor };
    let is_needed = || !limit.is_reached();
    let bundles = Bundles::of(timeline, &Watch::new(&is_needed))?;
    let (items, outermost) = bundles.counts();
    if outermost == 0 || outermost > items / 2 || limit.is_reached() {
        return None;
    }
    let (timeline, lifetimes) = bundles.timeline();
    let problem = Given {
        timeline: &timeline,
        begins: lifetimes.iter().map(|lifetime| lifetime.0).collect(),
        ends: lifetimes.iter().map(|lifetime| lifetime.1).collect(),
        named: None,
        last: &[],
        coarse: None,
    };
    let plan = problem.solve(Bound::on(&timeline), start, options, monitor).ok()?;
    Some(bundles.offsets(&plan.offsets))
}

/// An interval problem, along with its timeline and the portfolio's other inputs.
struct Given<'a> {
    timeline: &'a Timeline,
    begins: Vec<i64>,
    ends: Vec<i64>,
    named: Option<Vec<u32>>,
    last: &'a [Option<u64>],
    coarse: Option<Coarse<'a>>,
}

impl Given<'_> {
    /// Returns the best plan that the portfolio finds.
    fn solve(
        self,
        bound: Bound,
        start: Instant,
        options: &Options,
        monitor: &Monitor,
    ) -> Result<Plan, PlanError> {
        let Self { timeline, begins, ends, named, last, coarse } = self;
        let (overlaps, degrees) = (LazyOverlaps::new(timeline), timeline.degrees());
        let total_degree = degrees.iter().copied().fold(0, u64::saturating_add);
        let breadth = |watch: &Watch<'_>| timeline.breadth(watch);
        let measures = Measures {
            sizes: timeline.items.iter().map(|item| item.size).collect(),
            durations: timeline.durations.clone(),
            by_begin: by_number(&begins),
            begins,
            ends,
            degrees,
            breadth: &breadth,
            named,
            has_rough_plan: !timeline.is_plain(),
            last,
        };
        let portfolio = Portfolio {
            items: &timeline.items,
            measures,
            placer: || TimelinePlacer::new(timeline, &overlaps, total_degree),
            instance: |is_needed: &dyn Fn() -> bool| {
                Instance::of_timeline(timeline, TIMELINE_CONFLICT_LIMIT, is_needed)
            },
            coarse,
            overlaps: Some(&overlaps),
            bound,
            start,
            options,
            monitor,
        };
        portfolio.solve()
    }
}

impl HappensBeforeProblem {
    /// Returns the best plan that the solver finds within the budget.
    ///
    /// # Errors
    /// Fails if no plan fits within the capacity, or if the solver does not find one within the
    /// budget. The call also fails if the tolerance is not a ratio of at least 1.
    pub fn solve(&self, options: &Options) -> Result<Plan, PlanError> {
        self.solve_watched(options, &Monitor::new())
    }

    /// Returns the same plan as [`solve`](Self::solve). Another thread may use `monitor` to observe
    /// and stop the planner.
    ///
    /// # Errors
    /// Returns the same errors as [`solve`](Self::solve).
    pub fn solve_watched(&self, options: &Options, monitor: &Monitor) -> Result<Plan, PlanError> {
        self.solve_from(&[], options, monitor)
    }

    /// Solves the problem like [`solve_watched`](Self::solve_watched), but starts from an earlier
    /// plan. `last[i]` is the offset of buffer `i` in the earlier plan, or `None` if the buffer is
    /// new. `last` may contain fewer entries than there are buffers.
    ///
    /// The first plan places the buffers in the order of their earlier offsets and is always
    /// completed. The first plan is no worse than the earlier plan if the problem satisfies three
    /// conditions. Every buffer must have an offset in `last`. No buffer may have a larger size, a
    /// longer lifetime, or a larger alignment than in the earlier plan. Every ordering of
    /// operations in the earlier problem must still hold.
    ///
    /// # Errors
    /// Returns the same errors as [`solve`](Self::solve).
    pub fn solve_from(
        &self,
        last: &[Option<u64>],
        options: &Options,
        monitor: &Monitor,
    ) -> Result<Plan, PlanError> {
        let start = Instant::now();
        options.check()?;
        let items = items(self.buffers());
        let positions = Positions::of(self)?;
        let precedes = precedence(self, options.threads);
        let lifetimes = positions.lifetimes(self.buffers());
        let bound = self.bound_in_budget(&precedes, &lifetimes, start, options, monitor);
        monitor.set_bound(bound.bytes);
        let (conflicts, degrees) = conflicts(precedes, items.len(), options.threads);
        let total_degree = degrees.iter().sum();
        let breadth = |watch: &Watch<'_>| Timeline::of_lifetimes(&items, &lifetimes).breadth(watch);
        let begins: Vec<i64> =
            self.buffers().iter().map(|buffer| positions.at(buffer.allocated_by)).collect();
        // In a graph, the number of conflicts replaces the item's duration.
        let measures = Measures {
            sizes: items.iter().map(|item| item.size).collect(),
            durations: degrees.clone(),
            by_begin: by_number(&begins),
            begins,
            ends: lifetimes.iter().map(|lifetime| lifetime.1).collect(),
            degrees,
            breadth: &breadth,
            named: places_by_name(self.buffers().iter().map(|buffer| buffer.id.as_str())),
            has_rough_plan: false,
            last,
        };
        let witness = bound.witness.clone();
        let portfolio = Portfolio {
            items: &items,
            measures,
            placer: || ConflictPlacer::new(&items, &conflicts, total_degree),
            instance: |is_needed: &dyn Fn() -> bool| {
                Instance::of_conflicts(
                    &items,
                    &conflicts,
                    &witness,
                    GRAPH_CONFLICT_LIMIT,
                    is_needed,
                )
            },
            coarse: None,
            overlaps: None,
            bound,
            start,
            options,
            monitor,
        };
        checked(portfolio.solve()?, |offsets| self.validate(offsets))
    }
}

impl HappensBeforeProblem {
    /// Computes the lower bound in at most half of the budget that remains after the first plan.
    /// The remaining budget is reserved for planning.
    fn bound_in_budget(
        &self,
        precedes: &BitMatrix,
        lifetimes: &[(i64, i64)],
        start: Instant,
        options: &Options,
        monitor: &Monitor,
    ) -> Bound {
        let now = Instant::now();
        let first_plan = (now - start) * first_plan_cost(precedes, self.buffers().len());
        let beside = options.budget.saturating_sub(first_plan);
        let limit = Limit { deadline: now.checked_add(beside / 2), monitor };
        self.bound_while(precedes, lifetimes, &|| !limit.is_reached())
    }
}

/// A topological order of a graph's operations, stored as each operation's position.
struct Positions {
    operations: Operations,
    places: Vec<i64>,
}

impl Positions {
    /// Computes a topological order of a graph's operations. A topological order exists because a
    /// problem whose edges form a cycle cannot be created.
    fn of(problem: &HappensBeforeProblem) -> Result<Self, PlanError> {
        let operations = Operations::of(problem.edges(), problem.buffers());
        let order = operations.in_order(problem.edges());
        let order =
            order.map_err(|_| PlanError::Internal { what: "a checked graph has a cycle" })?;
        let mut places = vec![0; operations.len()];
        for (place, &operation) in (0..).zip(&order) {
            places[operation as usize] = place;
        }
        Ok(Self { operations, places })
    }

    /// Returns an operation's position in the order.
    fn at(&self, operation: usize) -> i64 {
        self.places[self.operations.index(operation)]
    }

    /// Returns the positions at which each buffer's lifetime begins and ends.
    fn lifetimes(&self, buffers: &[GraphBuffer]) -> Vec<(i64, i64)> {
        let lifetime = |buffer: &GraphBuffer| {
            if buffer.role != Role::Temporary {
                return (i64::MIN, i64::MAX);
            }
            let begin = self.at(buffer.allocated_by);
            let frees = buffer.freed_by.iter().map(|&operation| self.at(operation));
            (begin, frees.max().map_or(i64::MAX, |last| last.max(begin) + 1))
        };
        buffers.iter().map(lifetime).collect()
    }
}

/// Returns the size, alignment, and fixed offset of each buffer.
fn items(buffers: &[GraphBuffer]) -> Vec<Item> {
    let item =
        |one: &GraphBuffer| Item { size: one.size, alignment: one.alignment, fixed: one.offset };
    buffers.iter().map(item).collect()
}

/// Returns the indices of the given numbers, sorted by number in ascending order.
fn by_number(numbers: &[i64]) -> Vec<u32> {
    let mut items: Vec<u32> = indices(numbers.len()).collect();
    // The first plan needs the sorted items, so nothing may stop the sort.
    sort_by_number(&mut items, |item| unsigned(numbers[item as usize]), &Watch::new(&|| true));
    items
}

/// Returns an upper bound on the time until the first plan is complete. The bound is a multiple of
/// the time for computing the order relation.
fn first_plan_cost(precedes: &BitMatrix, count: usize) -> u32 {
    let rows = (0..count).step_by(ROWS_A_SAMPLE);
    let pairs = (rows.len() * count).max(1) as u64;
    // The relation contains each pair of ordered buffers only once, in the row of the earlier
    // buffer.
    let in_order = 2 * rows.map(|row| precedes.count(row)).sum::<u64>();
    let [least, more] = FIRST_PLAN_COST;
    let cost = least + (more * pairs.saturating_sub(in_order)).div_ceil(pairs);
    u32::try_from(cost).unwrap_or(u32::MAX)
}

/// Returns the pairs of mutually unordered items, and the number of such pairs for each item. The
/// number for each item includes the pair that the item forms with itself. The result reuses the
/// order relation's memory.
fn conflicts(precedes: BitMatrix, count: usize, threads: usize) -> (BitMatrix, Vec<u64>) {
    let mut matrix = precedes;
    matrix.merge_transposed(threads);
    let degrees = (0..count).map(|item| {
        matrix.set(item, item);
        let row = matrix.row_mut(item);
        if let Some(last) = row.last_mut().filter(|_| count % 64 != 0) {
            *last |= u64::MAX << (count % 64);
        }
        let negated = row.iter_mut().map(|word| {
            *word = !*word;
            u64::from(word.count_ones())
        });
        negated.sum::<u64>() + 1
    });
    let degrees = degrees.collect();
    (matrix, degrees)
}

/// Returns the plan. In debug builds, the plan must pass the validator.
fn checked(
    plan: Plan,
    validate: impl FnOnce(&[u64]) -> Result<u64, Violation>,
) -> Result<Plan, PlanError> {
    if cfg!(debug_assertions) {
        let peak = validate(&plan.offsets).map_err(PlanError::Rejected)?;
        debug_assert_eq!(peak, plan.certificate.peak, "the certificate states the peak");
    }
    Ok(plan)
}
