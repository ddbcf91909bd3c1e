//! `cargo xtask demo`: two real workloads, each with and without a pool, and what the pool changes; and a stream of
//! frames, whose temporaries come from a pool and from elsewhere.
//!
//! The two workloads are examples, compiled in from where they are. Their results
//! are compared bit by bit before anything is timed and again after; a difference fails the demo. The stream is
//! an example, too, and a program of its own: see [`stream`].

mod faults;
mod heap;
mod measure;
mod plot;
mod stream;
mod table;

#[path = "../../../examples/11_kalman/workload/mod.rs"]
mod kalman;
#[path = "../../../examples/12_pyramid/workload/mod.rs"]
mod pyramid;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use pool_facade::prelude::*;

use crate::TaskError;
use measure::Plan;
use stream::Length;
use table::Row;

/// What `cargo xtask demo` accepts.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Take a few seconds only: fewer and shorter batches, so a wider spread.
    #[arg(long)]
    quick: bool,
    /// Stream many more frames, up to 4K, also with mimalloc, jemalloc and bump-scope, which needs a C compiler, and
    /// 100,000 small ones with the pool: some minutes.
    #[arg(long, conflicts_with = "quick")]
    full: bool,
}

impl Arguments {
    /// How much of the stream they ask for.
    fn length(&self) -> Length {
        match (self.quick, self.full) {
            (true, _) => Length::Quick,
            (false, true) => Length::Full,
            (false, false) => Length::Short,
        }
    }
}

/// Runs both workloads and the stream, writes the pictures and prints the tables.
///
/// # Errors
///
/// When the versions of a workload differ, the log-likelihood is not the known one, or a
/// picture cannot be written.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    // Times of a build without optimisation say nothing.
    if cfg!(debug_assertions) {
        return run_optimised(arguments);
    }
    let plan = plan(arguments);
    let folder = folder();
    let progress = progress(&plan);
    let (nile, log_likelihood) = run_nile(&plan, &folder, &progress)?;
    let photograph = run_photograph(&plan, &folder, &progress)?;
    progress.finish_and_clear();

    println!("{}\n", table::of(&[nile, photograph]));
    println!("{}", table::explanation(&plan));
    println!("Both versions of each workload gave results that are equal in every bit.");
    println!("Exact diffuse log-likelihood of the Nile series: {log_likelihood:.3}");
    println!();
    stream::run(arguments.length(), &folder)?;
    println!("Pictures: {}", folder.display());
    Ok(ExitCode::SUCCESS)
}

fn run_optimised(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["run", "--release", "--package", "xtask", "--", "demo"]);
    command.args(arguments.quick.then_some("--quick"));
    command.args(arguments.full.then_some("--full"));
    let status = command.status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn plan(arguments: &Arguments) -> Plan {
    if arguments.quick {
        Plan { batches: 41, batch_time: Duration::from_millis(5) }
    } else {
        Plan { batches: 101, batch_time: Duration::from_millis(25) }
    }
}

/// `target/demo` of this workspace.
fn folder() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).join("target").join("demo")
}

/// A bar on a terminal, nothing elsewhere.
fn progress(plan: &Plan) -> ProgressBar {
    let workloads = 2;
    bar(workloads * plan.batches as usize)
}

/// A bar of so many steps.
pub(crate) fn bar(steps: usize) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    if let Ok(style) = ProgressStyle::with_template("{msg:36} [{bar:30}] {percent:>3} %  {eta}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

/// The Nile series through the Kalman filter and smoother; the log-likelihood, too.
fn run_nile(plan: &Plan, folder: &Path, progress: &ProgressBar) -> Result<(Row, f64), TaskError> {
    progress.set_message("Nile: Kalman filter and smoother");
    let years = kalman::nile::series()?;
    let flows: Vec<f64> = years.iter().map(|year| year.flow).collect();
    let model = kalman::StateSpace::local_level(years.first().ok_or("the series is empty")?.flow);
    let expected = kalman::allocating::smooth(&model, &flows)?;
    let mut pool: Pool<Cpu> = Pool::new(());
    kalman::check(&expected, &kalman::pooled::smooth(&mut pool.scope(), &model, &flows)?)?;

    let comparison = measure::compare(
        &mut || _ = black_box(kalman::allocating::smooth(&model, &flows)),
        &mut || _ = black_box(kalman::pooled::smooth(&mut pool.scope(), &model, &flows)),
        plan,
        progress,
    );
    let row =
        Row { workload: ["Kalman smoother", "on the Nile series"], comparison, pool: pool.stats() };
    let mut scope = pool.scope();
    let smoothed = kalman::pooled::smooth(&mut scope, &model, &flows)?;
    kalman::check(&expected, &smoothed)?;
    plot::write(&folder.join("nile.svg"), &years, &smoothed)?;
    Ok((row, smoothed.log_likelihood))
}

/// The photograph's pyramid and edges.
fn run_photograph(plan: &Plan, folder: &Path, progress: &ProgressBar) -> Result<Row, TaskError> {
    progress.set_message("Photograph: pyramid and edges");
    let photograph = pyramid::files::photograph()?;
    let expected = pyramid::allocating::pyramid(&photograph);
    let mut pool: Pool<Cpu> = Pool::new(());
    pyramid::check(&expected, &pyramid::pooled::pyramid(&mut pool.scope(), &photograph))?;

    let comparison = measure::compare(
        &mut || _ = black_box(pyramid::allocating::pyramid(&photograph)),
        &mut || _ = black_box(pyramid::pooled::pyramid(&mut pool.scope(), &photograph)),
        plan,
        progress,
    );
    let row =
        Row { workload: ["pyramid and edges", "of a photograph"], comparison, pool: pool.stats() };
    let mut scope = pool.scope();
    let levels = pyramid::pooled::pyramid(&mut scope, &photograph);
    pyramid::check(&expected, &levels)?;
    pyramid::files::write(folder, &levels)?;
    Ok(row)
}
