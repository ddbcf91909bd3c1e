//! Measures by how much the planner exceeds its budget, for random triples of a problem, a budget,
//! and a number of threads.
//!
//! `cargo bench -p pool-plan-cli --bench lateness -- [--files PATH,…] [--count 2000] [--seed 1]
//! [--budgets 0.005,1.5] [--sizes 16,100000]`. The problems are the files in
//! `crates/pool-plan/tests/data`, the given files (for a folder, its CSV files), and problems of 34
//! families. The budgets and the numbers of buffers are between the given numbers. The numbers of
//! threads are 1 to 3. The exit status is 1 if a plan is late by more than 5 % of its budget and by
//! more than 20 ms.
//!
//! A plan is late by the clock's time after its budget, or after its first plan if that took
//! longer. Only plans that the budget ended count. Other work on the machine makes plans late.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "a failing benchmark panics, and its numbers are small"
)]

#[path = "../../../crates/pool-plan/tests/support/families.rs"]
mod families;
#[path = "support/files.rs"]
mod files;
#[path = "support/fresh.rs"]
mod fresh;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use pool_plan::{IntervalProblem, Monitor, Options, Plan, StopReason};

use fresh::Random;

/// The maximum number of threads.
const MOST_THREADS: u64 = 3;
/// The maximum lateness: a share of the budget, or a number of seconds if that is more.
const MOST_LATE: (f64, f64) = (0.05, 0.02);
/// The lateness in seconds from which the time of the first plan is measured.
const NOTICEABLE: f64 = 0.001;

#[derive(Debug, Parser)]
struct Arguments {
    /// Additional files, and folders of files.
    #[arg(long, value_delimiter = ',')]
    files: Vec<PathBuf>,
    /// The number of triples.
    #[arg(long, default_value_t = 2_000)]
    count: usize,
    /// The smallest and the largest budget in seconds.
    #[arg(long, value_parser = range, default_value = "0.005,1.5")]
    budgets: (f64, f64),
    /// The smallest and the largest number of buffers in a family's problem.
    #[arg(long, value_parser = range, default_value = "16,100000")]
    sizes: (f64, f64),
    /// The seed of the random choices.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Set by `cargo bench`. Without this flag, as in `cargo test`, a few triples are solved.
    #[arg(long, hide = true)]
    bench: bool,
}

/// A problem, a budget in seconds, and a number of threads.
struct Triple {
    name: String,
    problem: IntervalProblem,
    budget: f64,
    threads: usize,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = Arguments::parse();
    if !arguments.bench {
        (arguments.count, arguments.budgets) = (5, (0.005, 0.02));
        arguments.sizes = (16.0, 500.0);
    }
    let files = files::problems(&arguments.files, |_| true)?;
    let mut random = Random::new(arguments.seed);
    let mut late = Vec::new();
    for _ in 0..arguments.count {
        let triple = triple(&arguments, &files, &mut random);
        let Some(seconds) = lateness(&triple)? else { continue };
        let Triple { name, budget, threads, .. } = triple;
        let is_late = seconds > MOST_LATE.1.max(budget * MOST_LATE.0);
        late.push((seconds, is_late, format!("{name} within {budget:.3} s on {threads}")));
    }
    late.sort_by(|one, other| one.0.total_cmp(&other.0));
    let solved = arguments.count - late.len();
    println!("{} plans, {solved} of them within the budget", arguments.count);
    for (name, share) in [("median", 0.5), ("99th percentile", 0.99), ("worst", 1.0)] {
        let place = (late.len().saturating_sub(1) as f64 * share) as usize;
        if let Some((seconds, _, what)) = late.get(place) {
            println!("{name}: {:.1} ms late, {what}", seconds * 1e3);
        }
    }
    late.retain(|one| one.1);
    late.iter()
        .for_each(|(seconds, _, what)| println!("too late: {:.1} ms, {what}", seconds * 1e3));
    // A run as part of the tests is not a measurement.
    let is_failed = arguments.bench && !late.is_empty();
    Ok(if is_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Reads two positive numbers in ascending order.
fn range(text: &str) -> Result<(f64, f64), String> {
    let numbers = text.split_once(',').and_then(|(low, high)| {
        let (low, high): (f64, f64) = (low.parse().ok()?, high.parse().ok()?);
        (low > 0.0 && low <= high && high.is_finite()).then_some((low, high))
    });
    numbers.ok_or_else(|| "two positive numbers in ascending order are needed: LOW,HIGH".to_owned())
}

/// Chooses a triple. Every other problem is a file.
fn triple(
    arguments: &Arguments,
    files: &[(String, IntervalProblem)],
    random: &mut Random,
) -> Triple {
    let mut between = |(low, high): (f64, f64)| {
        let share = random.within(0, 1 << 20) as f64 / (1_u64 << 20) as f64;
        low * (high / low).powf(share)
    };
    let (budget, size) = (between(arguments.budgets), between(arguments.sizes) as usize);
    let threads = 1 + random.within(0, MOST_THREADS) as usize;
    if random.within(0, 2) == 0 {
        let (name, problem) = files[random.within(0, files.len() as u64) as usize].clone();
        return Triple { name, problem, budget, threads };
    }
    let names: Vec<&str> = fresh::FRESH.into_iter().chain(fresh::FAMILIAR).collect();
    let number = random.within(0, (names.len() + families::FAMILIES.len()) as u64) as usize;
    let seed = random.within(0, 1 << 32);
    let (name, problem) = match number.checked_sub(names.len()) {
        None => (names[number].to_owned(), fresh::problem(names[number], size, seed)),
        Some(number) => {
            let family = families::FAMILIES[number];
            (format!("{family:?}"), families::problem(family, size, seed))
        }
    };
    Triple { name: format!("{name} of {size}, seed {seed},"), problem, budget, threads }
}

/// Returns the time in seconds by which a plan is late, or `None` if the planner finished within
/// its budget.
fn lateness(triple: &Triple) -> Result<Option<f64>, Box<dyn Error>> {
    let (plan, seconds) = timed(triple, &Monitor::new())?;
    let mut late = seconds - triple.budget;
    if late <= 0.0 && plan.stopped != StopReason::Budget {
        return Ok(None);
    }
    if late > NOTICEABLE {
        // The first plan is always completed.
        let stopped = Monitor::new();
        stopped.cancel();
        late = late.min(seconds - timed(triple, &stopped)?.1);
    }
    Ok(Some(late.max(0.0)))
}

fn timed(triple: &Triple, monitor: &Monitor) -> Result<(Plan, f64), Box<dyn Error>> {
    let &Triple { ref problem, budget, threads, .. } = triple;
    let options =
        Options { budget: Duration::from_secs_f64(budget), threads, ..Options::default() };
    let start = Instant::now();
    let plan = problem.solve_watched(&options, monitor)?;
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(problem.validate(&plan.offsets), Ok(plan.certificate.peak));
    Ok((plan, seconds))
}
