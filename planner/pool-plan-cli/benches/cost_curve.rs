//! Prints two tables of `docs/measurements/2026-11-25-planner.md`. The cost curve shows the seconds
//! and the ratio to the bound for a thousand to a million buffers. The other table compares the
//! planner with textbook heuristics on all families.
//!
//! `cargo bench -p pool-plan-cli --bench cost_curve -- [--budget 10]`. Every plan is validated.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "a failing benchmark panics, and its numbers are small"
)]

#[path = "../../../crates/pool-plan/tests/support/families.rs"]
mod families;
#[path = "../../../crates/pool-plan/tests/support/naive.rs"]
#[allow(dead_code, reason = "the tests use both interpretations of the last tie")]
mod naive;
#[path = "../../../crates/pool-plan/tests/support/synthetic.rs"]
mod synthetic;

use std::error::Error;
use std::time::{Duration, Instant};

use clap::Parser;
use comfy_table::{CellAlignment, Table, presets};
use pool_plan::{GreedyFit, GreedyHeuristic, IntervalProblem, Monitor, Options, Plan};

use families::Family;
use naive::{Last, Naive};

#[derive(Debug, Parser)]
struct Arguments {
    /// The budget of each plan in seconds.
    #[arg(long, default_value_t = 10)]
    budget: u64,
    /// Set by `cargo bench`. Without this flag, as in `cargo test`, only the smallest problems are
    /// solved.
    #[arg(long, hide = true)]
    bench: bool,
}

const CURVES: [(&str, Option<Family>); 3] = [
    ("network", None),
    ("compiler", Some(Family::Compiler)),
    ("long tails", Some(Family::LongTails)),
];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let counts: &[usize] =
        if arguments.bench { &[1_000, 10_000, 100_000, 1_000_000] } else { &[1_000] };
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    let headers = ["family", "buffers", "first plan s", "its ratio", "s", "ratio", "not tried"];
    table.set_header(headers);
    for (name, family) in CURVES {
        for &count in counts {
            let problem = match family {
                Some(family) => families::problem(family, count, 1),
                None => synthetic::network(count, 1)?,
            };
            table.add_row(row(name, &problem, Duration::from_secs(arguments.budget))?);
        }
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}");
    println!("{}", beside_textbooks(if arguments.bench { 3_000 } else { 100 })?);
    Ok(())
}

/// Returns the ratio to the bound that each heuristic reaches with each of its two fits, and the
/// ratio of a plan computed in two seconds.
fn beside_textbooks(count: usize) -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    let mut headers = vec!["family".to_owned()];
    let is_first = |one: &&GreedyHeuristic| one.fit == GreedyFit::First;
    let orders = GreedyHeuristic::ALL.iter().filter(is_first).map(|one| format!("{:?}", one.order));
    headers.extend(orders.chain(["this".to_owned(), "s".to_owned()]));
    table.set_header(headers);
    for family in families::FAMILIES {
        let problem = families::problem(family, count, 2);
        let options = Options { budget: Duration::from_secs(2), ..Options::default() };
        let (plan, seconds) = timed(|| problem.solve(&options))?;
        let bound = plan.certificate.bound as f64;
        let naive = Naive::new(&problem);
        let peaks = GreedyHeuristic::ALL.map(|one| naive.peak(one, Last::Place) as f64 / bound);
        let peaks = peaks.chunks(2).map(|fits| format!("{:.3} {:.3}", fits[0], fits[1]));
        let ours = format!("{:.4}", plan.certificate.ratio());
        let row = std::iter::once(format!("{family:?}")).chain(peaks);
        table.add_row(row.chain([ours, format!("{seconds:.3}")]));
    }
    Ok(table)
}

fn row(
    name: &str,
    problem: &IntervalProblem,
    budget: Duration,
) -> Result<Vec<String>, Box<dyn Error>> {
    let stopped = Monitor::new();
    stopped.cancel();
    let options = Options { budget, ..Options::default() };
    let (first, first_seconds) = timed(|| problem.solve_watched(&options, &stopped))?;
    let (plan, seconds) = timed(|| problem.solve(&options))?;
    for plan in [&first, &plan] {
        assert_eq!(problem.validate(&plan.offsets)?, plan.certificate.peak);
    }
    Ok(vec![
        name.to_owned(),
        problem.buffers().len().to_string(),
        format!("{first_seconds:.3}"),
        format!("{:.4}", first.certificate.ratio()),
        format!("{seconds:.3}"),
        format!("{:.4}", plan.certificate.ratio()),
        plan.untried.len().to_string(),
    ])
}

fn timed<E>(solve: impl FnOnce() -> Result<Plan, E>) -> Result<(Plan, f64), E> {
    let start = Instant::now();
    let plan = solve()?;
    Ok((plan, start.elapsed().as_secs_f64()))
}
