//! The solver: prepares the portfolio's input, and checks its result.

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

/// The number of pairs of conflicting items above which a timeline gets no exact search: one step
/// would take a millisecond. Repairs find such pairs without a list.
const TIMELINE_CONFLICT_LIMIT: usize = 4_000_000;
/// The number of pairs of conflicting items above which a graph gets neither exact search nor
/// repairs.
const GRAPH_CONFLICT_LIMIT: usize = 20_000_000;

/// The time until a graph's first plan, as a multiple of the time for the relation of its buffers,
/// which is included: [without conflicts, additionally if all conflict]. With many conflicts, most
/// of the time goes to them.
const FIRST_PLAN_COST: [u64; 2] = [4, 16];
/// The share of conflicting pairs is estimated from one row of the relation in this many.
const ROWS_A_SAMPLE: usize = 64;

impl IntervalProblem {
    /// Returns the best plan that the budget allows.
    ///
    /// # Errors
    /// Fails if there is no plan within the capacity, or if none was found in the budget. Fails if
    /// the tolerance is not a ratio of at least 1.
    pub fn solve(&self, options: &Options) -> Result<Plan, PlanError> {
        self.solve_watched(options, &Monitor::new())
    }

    /// Does the same as [`solve`](Self::solve). Another thread may watch and stop it through
    /// `monitor`.
    ///
    /// # Errors
    /// Same as [`solve`](Self::solve).
    pub fn solve_watched(&self, options: &Options, monitor: &Monitor) -> Result<Plan, PlanError> {
        self.solve_from(&[], options, monitor)
    }

    /// Does the same as [`solve_watched`](Self::solve_watched), but starts from an earlier plan. `last[i]` is the
    /// offset that buffer `i` had in it; `None` if the buffer is new. `last` may be shorter than the problem.
    ///
    /// The first plan then takes the buffers in the order of these offsets, and is finished even if the budget ends. It
    /// is no worse than the earlier plan if all its buffers had an offset, and none has more bytes, a longer life or a
    /// larger alignment than before.
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
    /// Same as [`solve`](Self::solve).
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

/// Returns the plan of bundles, if they are at most half of the number of items.
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

/// An interval problem on its timeline.
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
    /// Returns the best plan that the budget allows.
    ///
    /// # Errors
    /// Fails if there is no plan within the capacity, or if none was found in the budget. Fails if
    /// the tolerance is not a ratio of at least 1.
    pub fn solve(&self, options: &Options) -> Result<Plan, PlanError> {
        self.solve_watched(options, &Monitor::new())
    }

    /// Does the same as [`solve`](Self::solve). Another thread may watch and stop it through
    /// `monitor`.
    ///
    /// # Errors
    /// Same as [`solve`](Self::solve).
    pub fn solve_watched(&self, options: &Options, monitor: &Monitor) -> Result<Plan, PlanError> {
        self.solve_from(&[], options, monitor)
    }

    /// Does the same as [`solve_watched`](Self::solve_watched), but starts from an earlier plan. `last[i]` is the
    /// offset that buffer `i` had in it; `None` if the buffer is new. `last` may be shorter than the problem.
    ///
    /// The first plan then takes the buffers in the order of these offsets, and is finished even if the budget ends. It
    /// is no worse than the earlier plan if all its buffers had an offset, and none has more bytes, a longer life or a
    /// larger alignment than before, and no order between operations is missing.
    ///
    /// # Errors
    /// Same as [`solve`](Self::solve).
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
        // The number of a buffer's conflicts stands for its lifetime.
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
    /// Computes the bound, in at most half of the budget that the first plan leaves: the other half
    /// is for plans.
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

/// An order of a graph's operations that all edges follow: the place of each operation in it.
struct Positions {
    operations: Operations,
    places: Vec<i64>,
}

impl Positions {
    /// Computes an order of the operations. The problem was checked for cycles when it was made.
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

    /// Returns the place of an operation.
    fn at(&self, operation: usize) -> i64 {
        self.places[self.operations.index(operation)]
    }

    /// Returns, for each buffer, the places from and until which it is live.
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

/// Returns the items of a graph's buffers.
fn items(buffers: &[GraphBuffer]) -> Vec<Item> {
    let item =
        |one: &GraphBuffer| Item { size: one.size, alignment: one.alignment, fixed: one.offset };
    buffers.iter().map(item).collect()
}

/// Returns the items in the order of their numbers.
fn by_number(numbers: &[i64]) -> Vec<u32> {
    let mut items: Vec<u32> = indices(numbers.len()).collect();
    // The first plan needs it.
    sort_by_number(&mut items, |item| unsigned(numbers[item as usize]), &Watch::new(&|| true));
    items
}

/// Returns the maximum time of a first plan, as a multiple of the time for the relation.
fn first_plan_cost(precedes: &BitMatrix, count: usize) -> u32 {
    let rows = (0..count).step_by(ROWS_A_SAMPLE);
    let pairs = (rows.len() * count).max(1) as u64;
    // Each ordered pair is in the row of one of both.
    let in_order = 2 * rows.map(|row| precedes.count(row)).sum::<u64>();
    let [least, more] = FIRST_PLAN_COST;
    let cost = least + (more * pairs.saturating_sub(in_order)).div_ceil(pairs);
    u32::try_from(cost).unwrap_or(u32::MAX)
}

/// Returns the pairs of mutually unordered items, in the memory of the relation. Also returns, for
/// each item, the number of these pairs that it is in, including the one with itself.
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

/// Returns the plan, which in debug builds must pass the validator.
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
