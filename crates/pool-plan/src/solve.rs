//! From a problem to a plan: prepares what the portfolio needs, and checks what it returns.

use std::time::Instant;

use crate::bits::BitMatrix;
use crate::error::PlanError;
use crate::graph::{GraphBuffer, Role};
use crate::greedy::{ConflictPlacer, Measures, TimelinePlacer, places_by_name};
use crate::happens_before::HappensBeforeProblem;
use crate::interval::IntervalProblem;
use crate::item::Item;
use crate::operations::Operations;
use crate::options::{Monitor, Options};
use crate::order::precedence;
use crate::plan::Plan;
use crate::portfolio::{Limit, Portfolio};
use crate::search::Instance;
use crate::timeline::Timeline;
use crate::violation::Violation;

/// Timelines with more pairs of conflicting items get no exact search: one step would take a millisecond. Repairs
/// find such pairs without a list.
const TIMELINE_CONFLICT_LIMIT: usize = 4_000_000;
/// Graphs with more pairs of conflicting items get neither exact search nor repairs.
const GRAPH_CONFLICT_LIMIT: usize = 20_000_000;

/// A first plan of a graph takes less than so many times what the relation of its buffers took, that included, where no
/// buffers conflict, and so many times more where all do: then most of its time is spent with the conflicts.
const FIRST_PLAN_COST: [u64; 2] = [4, 16];
/// One row of so many says how many buffers conflict.
const ROWS_A_SAMPLE: usize = 64;

impl IntervalProblem {
    /// A plan, the best that the budget allows.
    ///
    /// # Errors
    /// With a capacity: if there is no plan within it, or none was found in the budget. If the
    /// tolerance is no ratio.
    pub fn solve(&self, options: &Options) -> Result<Plan, PlanError> {
        self.solve_watched(options, &Monitor::new())
    }

    /// As [`solve`](Self::solve), and another thread may watch and stop it by `monitor`.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_watched(&self, options: &Options, monitor: &Monitor) -> Result<Plan, PlanError> {
        let start = Instant::now();
        options.check()?;
        let timeline = Timeline::new(self);
        let measures = Measures {
            sizes: timeline.items.iter().map(|item| item.size).collect(),
            durations: timeline.durations.clone(),
            begins: self.buffers().iter().map(|buffer| buffer.lower).collect(),
            degrees: timeline.degrees(),
            named: places_by_name(self.buffers().iter().map(|buffer| buffer.id.as_str())),
            has_rough_plan: !timeline.is_plain(),
        };
        let portfolio = Portfolio {
            items: &timeline.items,
            measures,
            placer: || TimelinePlacer::new(&timeline),
            instance: |is_needed: &dyn Fn() -> bool| {
                Instance::of_timeline(&timeline, TIMELINE_CONFLICT_LIMIT, is_needed)
            },
            timeline: Some(&timeline),
            bound: self.lower_bound(),
            start,
            options,
            monitor,
        };
        checked(portfolio.solve()?, |offsets| self.validate(offsets))
    }
}

impl HappensBeforeProblem {
    /// A plan, the best that the budget allows.
    ///
    /// # Errors
    /// With a capacity: if there is no plan within it, or none was found in the budget. If the
    /// tolerance is no ratio.
    pub fn solve(&self, options: &Options) -> Result<Plan, PlanError> {
        self.solve_watched(options, &Monitor::new())
    }

    /// As [`solve`](Self::solve), and another thread may watch and stop it by `monitor`.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_watched(&self, options: &Options, monitor: &Monitor) -> Result<Plan, PlanError> {
        let start = Instant::now();
        options.check()?;
        let buffers = self.buffers();
        let items: Vec<Item> = buffers
            .iter()
            .map(|one| Item { size: one.size, alignment: one.alignment, fixed: one.offset })
            .collect();
        let operations = Operations::of(self.edges(), buffers);
        // The problem was checked for cycles when it was made.
        let order = operations.in_order(self.edges());
        let order =
            order.map_err(|_| PlanError::Internal { what: "a checked graph has a cycle" })?;
        let mut position = vec![0; operations.len()];
        for (place, &operation) in (0..).zip(&order) {
            position[operation as usize] = place;
        }
        let position = |operation| position[operations.index(operation)];
        let precedes = precedence(self, options.threads);
        // What the bound takes of the budget is not left for plans: it gets half of what is left beside the first one.
        let now = Instant::now();
        let first_plan = (now - start) * first_plan_cost(&precedes, items.len());
        let beside = options.budget.saturating_sub(first_plan);
        let limit = Limit { deadline: now.checked_add(beside / 2), monitor };
        let lifetimes = lifetimes(buffers, &position);
        let bound = self.bound_while(&precedes, &lifetimes, &|| !limit.is_reached());
        let (conflicts, degrees) = conflicts(precedes, items.len(), options.threads);
        let total_degree = degrees.iter().sum();
        let measures = Measures {
            sizes: items.iter().map(|item| item.size).collect(),
            durations: degrees.clone(),
            begins: buffers.iter().map(|buffer| position(buffer.allocated_by)).collect(),
            degrees,
            named: places_by_name(buffers.iter().map(|buffer| buffer.id.as_str())),
            has_rough_plan: false,
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
            timeline: None,
            bound,
            start,
            options,
            monitor,
        };
        checked(portfolio.solve()?, |offsets| self.validate(offsets))
    }
}

/// When each buffer is live in an order of the operations, of which `position` says where an operation stands.
fn lifetimes(buffers: &[GraphBuffer], position: &impl Fn(usize) -> i64) -> Vec<(i64, i64)> {
    let lifetime = |buffer: &GraphBuffer| {
        if buffer.role != Role::Temporary {
            return (i64::MIN, i64::MAX);
        }
        let begin = position(buffer.allocated_by);
        let frees = buffer.freed_by.iter().map(|&operation| position(operation));
        (begin, frees.max().map_or(i64::MAX, |last| last.max(begin) + 1))
    };
    buffers.iter().map(lifetime).collect()
}

/// How many times as long as the relation a first plan takes, at most.
fn first_plan_cost(precedes: &BitMatrix, count: usize) -> u32 {
    let rows = (0..count).step_by(ROWS_A_SAMPLE);
    let pairs = (rows.len() * count).max(1) as u64;
    // Each pair in order is in the row of one of both.
    let in_order = 2 * rows.map(|row| precedes.count(row)).sum::<u64>();
    let [least, more] = FIRST_PLAN_COST;
    let cost = least + (more * pairs.saturating_sub(in_order)).div_ceil(pairs);
    u32::try_from(cost).unwrap_or(u32::MAX)
}

/// The pairs of items of which neither precedes the other, in the memory of the relation, and in how many of them each is,
/// with itself.
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

/// The plan, which in debug builds must pass the validator.
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
