//! Compares the planner with its peers, for every file and every budget of CPU time, in one run.
//!
//! `cargo bench -p pool-plan-cli --bench peers -- [--files PATH,…] [--budgets 0.1,1.5] [--threads
//! 1,2] [--only NAME]`. The files are those in `crates/pool-plan/tests/data`, the given ones (for a
//! folder, its CSV files), problems of ten families on which the portfolio was not tuned, and of
//! three families that resemble problems on which it was tuned (see `support/fresh.rs`). A row is
//! lost if a peer reaches a lower peak without using more CPU time. The last line counts the lost
//! rows. The exit status is 1 if there are any.
//!
//! The peers are the fourteen textbook heuristics and hill climbing on their orders, in simple code
//! (`support/plain.rs`), `MiniMalloc`, which has to find a plan below this planner's peak, and
//! `idealloc`. `--minimalloc` and `--idealloc`, or the variables `POOL_MINIMALLOC` and
//! `POOL_IDEALLOC`, specify the paths of these commands. CPU time is measured for the whole
//! process. For commands, it includes the time to read the file.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "a failing benchmark panics, and its numbers are small"
)]

#[path = "support/cpu.rs"]
mod cpu;
#[path = "support/files.rs"]
mod files;
#[path = "support/fresh.rs"]
mod fresh;
#[path = "support/plain.rs"]
mod plain;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Parser;
use comfy_table::{CellAlignment, Table, presets};
use pool_plan::{GreedyHeuristic, IntervalProblem, Monitor, Options};

use cpu::{Whose, seconds};

/// The interval between two checks of the CPU time.
const LOOK: Duration = Duration::from_micros(500);
/// The tolerance for comparing a peer's time: this factor, plus these seconds, which are the
/// resolution of a tick-based clock.
const SAME_TIME: (f64, f64) = (1.0, 0.001);

#[derive(Debug, Parser)]
struct Arguments {
    /// Additional files, and folders of files.
    #[arg(long, value_delimiter = ',')]
    files: Vec<PathBuf>,
    /// The budgets of CPU time for each plan, in seconds.
    #[arg(long, value_delimiter = ',', default_value = "0.05,0.1,0.5,1.5,10")]
    budgets: Vec<f64>,
    /// The numbers of threads of this planner. The CPU time of all threads counts.
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    threads: Vec<usize>,
    /// The number of buffers in each fresh problem.
    #[arg(long, value_delimiter = ',', default_value = "400,4000")]
    sizes: Vec<usize>,
    /// The seed of the fresh problems.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only run problems whose name contains one of these.
    #[arg(long, value_delimiter = ',', default_value = "")]
    only: Vec<String>,
    /// The path of the `minimalloc` command.
    #[arg(long)]
    minimalloc: Option<PathBuf>,
    /// The path of the `idealloc` command.
    #[arg(long)]
    idealloc: Option<PathBuf>,
    /// Set by `cargo bench`. Without this flag, as in `cargo test`, one small problem is solved.
    #[arg(long, hide = true)]
    bench: bool,
}

/// The peak of a plan, and the CPU time that was spent on it.
#[derive(Clone, Debug)]
struct Found {
    by: String,
    peak: u64,
    seconds: f64,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = Arguments::parse();
    let path = |name| std::env::var_os(name).map(PathBuf::from);
    arguments.minimalloc = arguments.minimalloc.or_else(|| path("POOL_MINIMALLOC"));
    arguments.idealloc = arguments.idealloc.or_else(|| path("POOL_IDEALLOC"));
    if !arguments.bench {
        (arguments.budgets, arguments.threads) = (vec![0.02], vec![1]);
        (arguments.sizes, arguments.only) = (vec![60], vec!["unet".to_owned()]);
        (arguments.minimalloc, arguments.idealloc) = (None, None);
    }
    for (name, is_there) in
        [("MiniMalloc", arguments.minimalloc.is_some()), ("idealloc", arguments.idealloc.is_some())]
    {
        if !is_there && arguments.bench {
            println!("SKIPPED: {name}: neither an option nor a variable names its command");
        }
    }
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header([
        "problem",
        "buffers",
        "budget",
        "threads",
        "ratio",
        "CPU s",
        "untried",
        "best peer in that time",
        "its ratio",
        "CPU s",
    ]);
    let (mut rows, mut lost) = (0, Vec::new());
    for (name, problem) in problems(&arguments)? {
        if !arguments.only.iter().any(|part| name.contains(part)) {
            continue;
        }
        let bound = problem.lower_bound().bytes.max(1) as f64;
        let peers = peers(&problem, &arguments)?;
        for &budget in &arguments.budgets {
            let climbed = climb(&problem, budget);
            for &threads in &arguments.threads {
                let (ours, untried) = this(&problem, budget, threads)?;
                let mut others: Vec<Found> = peers.iter().chain(&climbed).cloned().collect();
                others.extend(below(&problem, ours.peak, ours.seconds.max(budget), &arguments)?);
                let most = ours.seconds.max(budget) * SAME_TIME.0 + SAME_TIME.1;
                others.retain(|one| one.seconds <= most);
                let best = others.iter().min_by_key(|one| one.peak);
                let ratio = |peak: u64| format!("{:.4}", peak as f64 / bound);
                let mut row = vec![name.clone(), problem.buffers().len().to_string()];
                row.extend([budget.to_string(), threads.to_string(), ratio(ours.peak)]);
                row.extend([format!("{:.3}", ours.seconds), untried.to_string()]);
                row.extend(best.map_or_else(
                    || vec!["none".to_owned(), "-".to_owned(), "-".to_owned()],
                    |one| vec![one.by.clone(), ratio(one.peak), format!("{:.3}", one.seconds)],
                ));
                eprintln!("{}", row.join(" | "));
                rows += 1;
                if let Some(best) = best.filter(|best| best.peak < ours.peak) {
                    lost.push(format!("{name} within {budget} s on {threads}: {}", best.by));
                }
                table.add_row(row);
            }
        }
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}");
    lost.iter().for_each(|row| println!("lost: {row}"));
    println!("{} rows, {} lost", rows, lost.len());
    // A run as part of the tests is not a measurement.
    let is_lost = arguments.bench && !lost.is_empty();
    Ok(if is_lost { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Returns all problems, each with its name.
fn problems(arguments: &Arguments) -> Result<Vec<(String, IntervalProblem)>, Box<dyn Error>> {
    let is_needed = |name: &str| arguments.only.iter().any(|part| name.contains(part));
    let mut all = files::problems(&arguments.files, is_needed)?;
    for name in fresh::FRESH.into_iter().chain(fresh::FAMILIAR) {
        for &size in &arguments.sizes {
            all.push((format!("{name} {size}"), fresh::problem(name, size, arguments.seed)));
        }
    }
    Ok(all)
}

/// Returns the plan that this planner finds within a budget of CPU time, and the number of
/// heuristics that it did not try. The plan is validated.
fn this(
    problem: &IntervalProblem,
    budget: f64,
    threads: usize,
) -> Result<(Found, usize), Box<dyn Error>> {
    let (monitor, done) = (Monitor::new(), AtomicBool::new(false));
    let start = seconds(Whose::Process)?;
    let plan = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                if seconds(Whose::Process).unwrap() - start >= budget {
                    monitor.cancel();
                }
                std::thread::sleep(LOOK);
            }
        });
        // The planner divides its budget among its phases. By the clock, the same number of seconds
        // takes at least as long, so the CPU time ends the run.
        let budget = Duration::from_secs_f64(budget);
        let options = Options { budget, threads, ..Options::default() };
        let plan = problem.solve_watched(&options, &monitor);
        done.store(true, Ordering::Relaxed);
        plan
    })?;
    let spent = seconds(Whose::Process)? - start;
    assert_eq!(problem.validate(&plan.offsets), Ok(plan.certificate.peak));
    let found = Found { by: "this".to_owned(), peak: plan.certificate.peak, seconds: spent };
    Ok((found, plan.untried.len()))
}

/// Returns the peers whose plans do not depend on a budget: the textbook heuristics and `idealloc`.
fn peers(problem: &IntervalProblem, arguments: &Arguments) -> Result<Vec<Found>, Box<dyn Error>> {
    let has_gaps = problem.buffers().iter().any(|one| !one.gaps.is_empty());
    let is_fixed = problem.buffers().iter().any(|one| one.offset.is_some());
    let mut found = Vec::new();
    if has_gaps || is_fixed {
        return Ok(found);
    }
    for heuristic in GreedyHeuristic::ALL {
        let start = seconds(Whose::Thread)?;
        let (offsets, peak) = plain::plan(problem.buffers(), heuristic.order, heuristic.fit);
        let seconds = seconds(Whose::Thread)? - start;
        assert_eq!(problem.validate(&offsets), Ok(peak), "{heuristic}");
        found.push(Found { by: heuristic.to_string(), peak, seconds });
    }
    let is_aligned = problem.buffers().iter().any(|one| one.alignment > 1);
    if let Some(path) = arguments.idealloc.as_ref().filter(|_| !is_aligned) {
        let file = written(problem)?;
        let start = seconds(Whose::Commands)?;
        // For some files, this command never ends.
        let most = arguments.budgets.iter().copied().fold(1.0, f64::max);
        let mut command = cpu::limited(path, most.ceil() as u64);
        command
            .stdout(Stdio::piped())
            .args(["--max-lives", "5", "--input"])
            .arg(&file)
            .arg("ex-csv");
        let output = command.output()?;
        let seconds = seconds(Whose::Commands)? - start;
        let peak = cpu::number_after(&String::from_utf8_lossy(&output.stdout), "Makespan:");
        found.extend(peak.map(|peak| Found { by: "idealloc".to_owned(), peak, seconds }));
    }
    Ok(found)
}

/// Runs hill climbing for a number of seconds of CPU time.
fn climb(problem: &IntervalProblem, budget: f64) -> Option<Found> {
    let buffers = problem.buffers();
    if buffers.iter().any(|one| !one.gaps.is_empty() || one.offset.is_some()) {
        return None;
    }
    let start = seconds(Whose::Thread).unwrap();
    let spent = || seconds(Whose::Thread).unwrap() - start;
    let peak = plain::climb(buffers, &mut || spent() < budget)?;
    Some(Found { by: "hill climbing".to_owned(), peak, seconds: budget })
}

/// Returns a `MiniMalloc` plan with a peak below the given one, if the command finds one within a
/// number of seconds of CPU time.
fn below(
    problem: &IntervalProblem,
    peak: u64,
    budget: f64,
    arguments: &Arguments,
) -> Result<Option<Found>, Box<dyn Error>> {
    let Some(path) = &arguments.minimalloc else { return Ok(None) };
    if peak <= problem.lower_bound().bytes || peak > i64::MAX as u64 {
        return Ok(None);
    }
    let file = written(problem)?;
    let mut command = cpu::limited(path, budget.ceil() as u64);
    command.arg(format!("--capacity={}", peak - 1)).arg(format!("--input={}", file.display()));
    command.arg(format!("--output={}", file.with_extension("minimalloc.csv").display()));
    // A clock with a resolution of one second is too coarse, so the search is also given its own
    // limit.
    command.arg(format!("--timeout={budget}s"));
    let start = seconds(Whose::Commands)?;
    let is_found = command.status()?.success();
    let seconds = seconds(Whose::Commands)? - start;
    Ok(is_found.then_some(Found { by: "MiniMalloc".to_owned(), peak: peak - 1, seconds }))
}

/// A file that contains a problem, for the peers that are commands.
fn written(problem: &IntervalProblem) -> Result<PathBuf, Box<dyn Error>> {
    let file =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("peers-{}.csv", std::process::id()));
    let is_aligned = problem.buffers().iter().any(|one| one.alignment > 1);
    let mut text = String::from("id,lower,upper,size");
    text.push_str(if is_aligned { ",alignment\n" } else { "\n" });
    for (number, one) in problem.buffers().iter().enumerate() {
        text.push_str(&format!("{number},{},{},{}", one.lower, one.upper, one.size));
        if is_aligned {
            text.push_str(&format!(",{}", one.alignment));
        }
        text.push('\n');
    }
    std::fs::write(&file, text)?;
    Ok(file)
}
