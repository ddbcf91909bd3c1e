//! Prints the results table of `docs/measurements/2026-11-25-planner.md`, and the results for
//! random captures.
//!
//! `cargo bench -p pool-plan-cli --bench planner -- [--repeat 5] [--captures 1000] [--held-out 3]`.
//! Times are medians over all repetitions, with the fastest and the slowest. Each repetition uses a
//! different seed, so the spread shows the influence of luck. Every plan is validated.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "a failing benchmark panics, and its numbers are small"
)]

#[path = "../../../crates/pool-plan/tests/support/capture.rs"]
mod capture;
#[path = "../../../crates/pool-plan/tests/support/held_out.rs"]
mod held_out;
#[path = "../../../crates/pool-plan/tests/support/synthetic.rs"]
mod synthetic;

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use clap::Parser;
use comfy_table::{CellAlignment, Table, presets};
use pool_plan::{IntervalProblem, Options, PlanError};
use pool_replay::csv;

#[derive(Debug, Parser)]
struct Arguments {
    /// The number of repetitions, each with a different seed.
    #[arg(long, default_value_t = 5)]
    repeat: u64,
    /// The number of random captures; 0 for none.
    #[arg(long, default_value_t = 1000)]
    captures: usize,
    /// The number of problems of each family that is not in the table; 0 for none.
    #[arg(long, default_value_t = 3)]
    held_out: u64,
    /// Only run instances whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Set by `cargo bench`. Without this flag, as in `cargo test`, each instance is solved once.
    #[arg(long, hide = true)]
    bench: bool,
}

/// An instance, the required quality of its plan, and the results of peers (seconds, or the peak
/// that they reach).
struct Instance {
    name: &'static str,
    capacity: Option<u64>,
    tolerance: f64,
    minimalloc: &'static str,
    idealloc: &'static str,
}

const fn tight(name: &'static str, minimalloc: &'static str, idealloc: &'static str) -> Instance {
    Instance { name, capacity: Some(1_048_576), tolerance: 1.0, minimalloc, idealloc }
}

const fn trace(
    name: &'static str,
    tolerance: f64,
    minimalloc: &'static str,
    idealloc: &'static str,
) -> Instance {
    Instance { name, capacity: None, tolerance, minimalloc, idealloc }
}

const INSTANCES: [Instance; 14] = [
    tight("A.1048576", "4.99 s", "1.29, 32 ms"),
    tight("C.1048576", "0.68 s", "1.36, 39 ms"),
    tight("F.1048576", "5.62 s", "1.32, 50 ms"),
    tight("H.1048576", "1.85 s", "1.29, 61 ms"),
    tight("K.1048576", "0.61 s", "1.28, 83 ms"),
    trace("C.1048576", 1.0, "-", "1.36, 39 ms"),
    trace("input.12", 1.0, "-", "-"),
    trace("non_existent", 1.0, "-", "-"),
    trace("iree_mobilebert", 1.005, "-", "panics"),
    trace("iopddl_G_1", 1.005, "1.71 s at 1.00", "1.0028, 31 ms"),
    trace("resnet50", 1.005, "0.26 s at 1.00", "1.0064, 42 ms"),
    trace("bert_base", 1.005, "14.5 s at 1.01", "1.0000, 0.65 s"),
    trace("pangu_13B", 1.005, "not in 40 s", "1.0000, 0.66 s"),
    trace("network of 60000", 1.02, "-", "-"),
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = Arguments::parse();
    if !arguments.bench {
        (arguments.repeat, arguments.captures, arguments.held_out) = (1, 0, 0);
    }
    let headers =
        ["instance", "buffers", "bound", "peak", "ratio", "median s", "fastest", "slowest"];
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(headers.into_iter().chain(["MiniMalloc", "idealloc"]));
    for instance in INSTANCES.iter().filter(|one| one.name.contains(&arguments.only)) {
        table.add_row(row(instance, arguments.repeat)?);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    if arguments.only.is_empty() || table.row_count() > 0 {
        println!("{table}");
    }
    if arguments.held_out > 0 {
        println!("{}", held_out_table(arguments.held_out)?);
    }
    for live_out in [false, true] {
        if arguments.captures > 0 {
            captures(arguments.captures, live_out)?;
        }
    }
    Ok(())
}

fn problem(name: &str) -> Result<IntervalProblem, Box<dyn Error>> {
    if name == "network of 60000" {
        return Ok(synthetic::network(60_000, 1)?);
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/pool-plan/tests/data");
    let text = std::fs::read_to_string(folder.join(format!("{name}.csv")))?;
    Ok(csv::read(&text, csv::CsvOptions::default())?)
}

fn row(instance: &Instance, repeat: u64) -> Result<Vec<String>, Box<dyn Error>> {
    let problem = problem(instance.name)?;
    let mut seconds = Vec::new();
    let (mut worst, mut bound) = (0, 0);
    for seed in 0..repeat.max(1) {
        let options = Options {
            capacity: instance.capacity,
            tolerance: instance.tolerance,
            budget: Duration::from_secs(60),
            seed,
            ..Options::default()
        };
        let start = Instant::now();
        let plan = problem.solve(&options)?;
        seconds.push(start.elapsed().as_secs_f64());
        worst = worst.max(problem.validate(&plan.offsets)?);
        bound = plan.certificate.bound;
    }
    seconds.sort_by(f64::total_cmp);
    let time = |seconds: f64| format!("{seconds:.3}");
    Ok(vec![
        instance.name.to_owned(),
        problem.buffers().len().to_string(),
        bound.to_string(),
        worst.to_string(),
        format!("{:.5}", worst as f64 / bound as f64),
        time(seconds[seconds.len() / 2]),
        time(seconds[0]),
        time(seconds[seconds.len() - 1]),
        instance.minimalloc.to_owned(),
        instance.idealloc.to_owned(),
    ])
}

/// Shows how well variants of the traces, and problems modelled on them, are solved.
fn held_out_table(count: u64) -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(["family", "problems", "reached", "worst ratio", "median s", "slowest"]);
    for name in ["A", "C", "F", "H", "K"] {
        let base = problem(&format!("{name}.1048576"))?;
        for (cuts, what) in [(false, "shuffled"), (true, "with cuts")] {
            let make = |seed| held_out::refitted(&base, cuts, seed);
            table.add_row(family(&format!("{name} {what}"), count, Some(1_048_576), 1.0, make)?);
        }
    }
    for size in [150, 300, 450] {
        let make = |seed| held_out::cut_out(size, seed);
        table.add_row(family(
            &format!("{size} pieces of a rectangle"),
            count,
            Some(1_048_576),
            1.0,
            make,
        )?);
    }
    for name in ["iree_mobilebert", "iopddl_G_1", "resnet50", "bert_base", "pangu_13B"] {
        let base = problem(name)?;
        let make = |seed| held_out::resized(&base, seed);
        table.add_row(family(&format!("{name} resized"), count, None, 1.005, make)?);
    }
    let make = |seed| synthetic::network(60_000, 100 + seed);
    table.add_row(family("network of 60000", count, None, 1.02, make)?);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    Ok(table)
}

/// Counts the problems of a family that reach their capacity or tolerance within 10 seconds.
fn family(
    name: &str,
    count: u64,
    capacity: Option<u64>,
    tolerance: f64,
    make: impl Fn(u64) -> Result<IntervalProblem, PlanError>,
) -> Result<Vec<String>, Box<dyn Error>> {
    let (mut reached, mut worst) = (0, 1.0_f64);
    let mut seconds = Vec::new();
    for seed in 0..count {
        let problem = make(seed)?;
        let options = Options {
            capacity,
            tolerance,
            seed,
            budget: Duration::from_secs(10),
            ..Options::default()
        };
        let start = Instant::now();
        let outcome = problem.solve(&options);
        seconds.push(start.elapsed().as_secs_f64());
        let ratio = match outcome {
            Ok(plan) => {
                problem.validate(&plan.offsets)?;
                reached += usize::from(plan.certificate.ratio() <= tolerance || capacity.is_some());
                plan.certificate.ratio()
            }
            Err(PlanError::NotFound { bound, best, .. }) => best as f64 / bound as f64,
            Err(error) => return Err(error.into()),
        };
        worst = worst.max(ratio);
    }
    seconds.sort_by(f64::total_cmp);
    Ok(vec![
        name.to_owned(),
        count.to_string(),
        reached.to_string(),
        format!("{worst:.4}"),
        format!("{:.3}", seconds[seconds.len() / 2]),
        format!("{:.3}", seconds[seconds.len() - 1]),
    ])
}

/// Plans random captures, and prints how far the plans are from the bound.
fn captures(count: usize, live_out: bool) -> Result<(), Box<dyn Error>> {
    let mut results = Vec::new();
    let (mut refused, mut forked) = (0, 0);
    let mut seconds = Vec::new();
    for setting in capture::settings(count, live_out) {
        let captured = setting.make()?;
        let options = Options {
            budget: Duration::from_millis(250),
            tolerance: 1.05,
            seed: setting.seed,
            ..Options::default()
        };
        let start = Instant::now();
        let plan = captured.graph.solve(&options)?;
        seconds.push(start.elapsed().as_secs_f64());
        captured.graph.validate(&plan.offsets)?;
        results.push((plan.certificate.ratio(), setting));
        let quick = Options { rounds: Some(0), ..options };
        let by_call_order = captured.call_order.solve(&quick)?;
        forked += usize::from(setting.streams > 1);
        let is_refused = captured.graph.validate(&by_call_order.offsets).is_err();
        refused += usize::from(setting.streams > 1 && is_refused);
    }
    results.sort_by(|one, other| one.0.total_cmp(&other.0));
    seconds.sort_by(f64::total_cmp);
    let at = |share: f64| results[((results.len() - 1) as f64 * share).round() as usize].0;
    let (worst, setting) = results[results.len() - 1];
    println!(
        "{count} captures, buffers never freed {}: 0 violations; ratio to the exact bound: median \
         {:.4}, 99th percentile {:.4}, worst {worst:.4} by {setting:?}; {:.1} ms in the median, \
         {:.0} ms at most; call-order reuse rejected on {refused} of {forked} forked ones",
        if live_out { "share with nothing" } else { "may follow others" },
        at(0.5),
        at(0.99),
        seconds[seconds.len() / 2] * 1e3,
        seconds[seconds.len() - 1] * 1e3,
    );
    Ok(())
}
