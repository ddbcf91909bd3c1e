//! The program of `cargo xtask demo`: two real workloads, each with and without a pool, and the
//! differences. Also a stream of frames, whose temporaries come from a pool and from other sources.
//!
//! The two workloads are examples, compiled in from their place. Their results are compared bit by
//! bit before and after the timing; a difference fails the demo. The stream is an example, too, and
//! a program of its own: see [`stream`].

#[path = "../../benches/src/harness/clock.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "a library exports it; this program measures wall-clock time"
)]
mod clock;
mod heap;
mod measure;
mod plot;
#[path = "../../tools/showcases/src/progress.rs"]
mod progress;
mod stream;
mod table;

#[path = "../../examples/11_kalman/workload/mod.rs"]
mod kalman;
#[path = "../../examples/12_pyramid/workload/mod.rs"]
mod pyramid;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use indicatif::ProgressBar;
use pool_facade::prelude::*;

use measure::Plan;
use stream::{Columns, Length};
use table::Row;

/// An error, with a text for the user of the program.
type TaskError = Box<dyn std::error::Error>;

/// The arguments of `cargo xtask demo`.
#[derive(Debug, Parser)]
struct Arguments {
    /// The amount of measuring.
    #[arg(long)]
    length: Length,
    /// The folder of the stream's programs.
    #[arg(long)]
    programs: PathBuf,
    /// The additions with which these programs were built.
    #[arg(long = "with")]
    with: Vec<Addition>,
    /// The name of one stream, to run it alone.
    #[arg(long)]
    only: Option<String>,
}

/// A part that some builds of the stream's programs lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Addition {
    /// mimalloc, jemalloc and bump-scope.
    Allocators,
    /// The device of wgpu.
    Wgpu,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", pool_facade::error_chain(&*error));
            ExitCode::FAILURE
        }
    }
}

/// Runs the requested parts, writes the pictures and prints the tables.
fn run(arguments: &Arguments) -> Result<(), TaskError> {
    let folder = folder();
    if arguments.only.is_none() {
        run_workloads(&plan(arguments.length), &folder)?;
    }
    let columns = Columns::new(&arguments.programs, &arguments.with)?;
    stream::run(arguments.length, arguments.only.as_deref(), &columns, &folder)?;
    println!("Pictures: {}", folder.display());
    Ok(())
}

/// Both workloads.
///
/// # Errors
///
/// Fails if the versions of a workload differ, if the log-likelihood is not the known one, or if a
/// picture cannot be written.
fn run_workloads(plan: &Plan, folder: &Path) -> Result<(), TaskError> {
    let progress = progress(plan);
    let (nile, log_likelihood) = run_nile(plan, folder, &progress)?;
    let photograph = run_photograph(plan, folder, &progress)?;
    progress.finish_and_clear();

    println!("{}\n", table::of(&[nile, photograph]));
    println!("{}", table::explanation(plan));
    println!("Both versions of each workload produced bit-identical results.");
    println!("Exact diffuse log-likelihood of the Nile series: {log_likelihood:.3}");
    println!();
    Ok(())
}

fn plan(length: Length) -> Plan {
    match length {
        Length::Quick => Plan { batches: 41, batch_time: Duration::from_millis(5) },
        Length::Short | Length::Full => {
            Plan { batches: 101, batch_time: Duration::from_millis(25) }
        }
    }
}

/// `target/demo` of this workspace.
fn folder() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).join("target").join("demo")
}

/// A bar for both workloads.
fn progress(plan: &Plan) -> ProgressBar {
    let workloads = 2;
    progress::bar(workloads * plan.batches as usize)
}

/// Runs the Nile series through the Kalman filter and smoother; also returns the log-likelihood.
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
