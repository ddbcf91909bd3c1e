//! Prints the table "A budget is a budget" of `docs/measurements/2026-11-25-planner.md`: the time
//! of the first plan, and the time by which the planner exceeds its budget, for problems of all
//! families and for captures of several streams.
//!
//! `cargo bench -p pool-plan-cli --bench budget -- [--sizes 1000,30000] [--budgets 0.1,1.5] [--only
//! NAME]`. Every plan is validated, except those of graphs with more than 10,000 buffers. The last
//! line shows the worst result, which also determines the exit status.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "a failing benchmark panics, and its numbers are small"
)]

#[path = "../../../crates/pool-plan/tests/support/capture.rs"]
#[allow(dead_code, reason = "the acceptance figures have their own settings")]
mod capture;
#[path = "../../../crates/pool-plan/tests/support/families.rs"]
mod families;
#[path = "../../../crates/pool-plan/tests/support/synthetic.rs"]
mod synthetic;

use std::error::Error;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use comfy_table::{CellAlignment, Table, presets};
use pool_plan::{HappensBeforeProblem, IntervalProblem, Monitor, Options, Plan, PlanError};

use capture::Capture;

/// The maximum time past the budget and the first plan, as a share of the budget.
const MOST_PAST: f64 = 0.1;
/// The numbers of streams in captures.
const STREAMS: [usize; 4] = [1, 2, 8, 64];
/// The size of the largest capture. A graph may not contain more buffers.
const MOST_CAPTURED: usize = 92_672;

/// The size of the largest capture whose plans are validated.
const MOST_VALIDATED: usize = 10_000;

#[derive(Debug, Parser)]
struct Arguments {
    /// The sizes of the problems, in buffers.
    #[arg(long, value_delimiter = ',', default_value = "1000,10000,30000,100000")]
    sizes: Vec<usize>,
    /// The budgets of each plan in seconds.
    #[arg(long, value_delimiter = ',', default_value = "0.1,0.5,1.5,10")]
    budgets: Vec<f64>,
    /// Only run families whose name contains one of these.
    #[arg(long, value_delimiter = ',', default_value = "")]
    only: Vec<String>,
    /// Set by `cargo bench`. Without this flag, as in `cargo test`, one small problem is solved.
    #[arg(long, hide = true)]
    bench: bool,
}

/// A problem of either kind.
enum Problem {
    Interval(IntervalProblem),
    Graph(HappensBeforeProblem),
}

/// Creates a family's problem of a given size.
type Make = Box<dyn Fn(usize) -> Result<Problem, PlanError>>;

impl Problem {
    fn solve(&self, options: &Options, monitor: &Monitor) -> Result<Plan, PlanError> {
        match self {
            Self::Interval(problem) => problem.solve_watched(options, monitor),
            Self::Graph(problem) => problem.solve_watched(options, monitor),
        }
    }

    fn buffers(&self) -> usize {
        match self {
            Self::Interval(problem) => problem.buffers().len(),
            Self::Graph(problem) => problem.buffers().len(),
        }
    }

    /// Validates a plan. Plans of large graphs are skipped, because validating one would take
    /// longer than all plans.
    fn assert_valid(&self, plan: &Plan) {
        if matches!(self, Self::Graph(graph) if graph.buffers().len() > MOST_VALIDATED) {
            return;
        }
        let peak = match self {
            Self::Interval(problem) => problem.validate(&plan.offsets),
            Self::Graph(problem) => problem.validate(&plan.offsets),
        };
        assert_eq!(peak, Ok(plan.certificate.peak));
    }
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = Arguments::parse();
    if !arguments.bench {
        (arguments.sizes, arguments.budgets) = (vec![500], vec![0.01]);
        arguments.only = vec!["LongTails".to_owned()];
    }
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    let headers = ["family", "buffers", "first plan s", "its ratio"].map(str::to_owned);
    let budgets = arguments.budgets.iter().map(|budget| format!("within {budget} s"));
    table.set_header(headers.into_iter().chain(budgets));
    let mut worst: (f64, String) = (0.0, "none".to_owned());
    for (name, make) in families() {
        if !arguments.only.iter().any(|part| name.contains(part)) {
            continue;
        }
        for &size in &arguments.sizes {
            let problem = make(size)?;
            let (row, past, budget) = row(&name, &problem, &arguments.budgets)?;
            eprintln!("{}", row.join(" | "));
            table.add_row(row);
            if past > worst.0 {
                worst = (past, format!("{name} of {size} within {budget} s"));
            }
        }
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}");
    let (past, whose) = worst;
    println!("at most {:.1} % beyond the budget and the first plan: {whose}", past * 100.0);
    // A run as part of the tests is not a measurement.
    let is_over = arguments.bench && past > MOST_PAST;
    Ok(if is_over { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn families() -> Vec<(String, Make)> {
    let mut all: Vec<(String, Make)> = Vec::new();
    all.push((
        "network".to_owned(),
        Box::new(|size| Ok(Problem::Interval(synthetic::network(size, 1)?))),
    ));
    for family in families::FAMILIES {
        let make = move |size| Ok(Problem::Interval(families::problem(family, size, 1)));
        all.push((format!("{family:?}"), Box::new(make)));
    }
    for streams in STREAMS {
        let make = move |size: usize| {
            let operations = size.min(MOST_CAPTURED);
            let (allocate, free) = (1.0, 0.99);
            let capture = Capture { operations, streams, allocate, free, live_out: false, seed: 1 };
            Ok(Problem::Graph(capture.make()?.graph))
        };
        all.push((format!("graph of {streams}"), Box::new(make)));
    }
    all
}

/// A row of the table. Also the largest time past the budget and the first plan, as a share of the
/// budget, with that budget. Each cell contains the seconds, the ratio, and the number of
/// heuristics that were not tried.
fn row(
    name: &str,
    problem: &Problem,
    budgets: &[f64],
) -> Result<(Vec<String>, f64, f64), PlanError> {
    let stopped = Monitor::new();
    stopped.cancel();
    let (first, first_seconds) = timed(problem, &Options::default(), &stopped)?;
    let mut row = vec![name.to_owned(), problem.buffers().to_string()];
    row.extend([format!("{first_seconds:.3}"), format!("{:.4}", first.certificate.ratio())]);
    let mut worst = (0.0, 0.0);
    for &budget in budgets {
        let options = Options { budget: Duration::from_secs_f64(budget), ..Options::default() };
        let (plan, seconds) = timed(problem, &options, &Monitor::new())?;
        let past = (seconds - first_seconds.max(budget)) / budget;
        if past > worst.0 {
            worst = (past, budget);
        }
        let (ratio, untried) = (plan.certificate.ratio(), plan.untried.len());
        row.push(format!("{seconds:.3} {ratio:.4} {untried}"));
    }
    Ok((row, worst.0, worst.1))
}

fn timed(
    problem: &Problem,
    options: &Options,
    monitor: &Monitor,
) -> Result<(Plan, f64), PlanError> {
    let start = Instant::now();
    let plan = problem.solve(options, monitor)?;
    let seconds = start.elapsed().as_secs_f64();
    problem.assert_valid(&plan);
    Ok((plan, seconds))
}
