//! `cargo xtask sim-test`: runs the tests that use the simulated CUDA driver, each in its own
//! process.
//!
//! A process has one simulator with one seed, one set of limits and one list of reports. Tests are
//! independent because each runs in its own process. All ignored tests of the crates in [`Suites`]
//! run in this way. The last line is `N passed, N failed, N skipped`; none of these counts is a GPU
//! result.

// Layering: a module may import what follows its colon.
//
// sanitizer: nothing
// programs: sanitizer
// process: programs
// several: process, programs

mod process;
mod programs;
mod sanitizer;
mod several;

use std::process::ExitCode;
use std::time::Duration;

use tasks::TaskError;
use tasks::programs::Artifact;

use process::Run;
use programs::Program;
use sanitizer::Sanitizer;
use several::Case;

pub use programs::simulated_driver;

/// The crates of a workspace whose tests run on the simulator.
#[derive(Clone, Copy, Debug)]
pub struct Suites {
    /// The names of the crates.
    pub packages: &'static [&'static str],
    /// The features with which `--workspace` builds all crates, each as `crate/feature`.
    pub features: &'static [&'static str],
    /// Returns `true` for a program that loads whatever driver the loader finds. For such a
    /// program, the simulator is provided under the driver's name; the other programs load the
    /// simulator themselves.
    pub asks_the_loader: fn(&Artifact) -> bool,
}

/// The arguments of `cargo xtask sim-test`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Run every test with this many seeds, one after the other.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seeds: u64,
    /// The first seed.
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    first_seed: u64,
    /// Run work in a background thread as soon as it is ready, like a device, and not only when a
    /// call forces it.
    #[arg(long)]
    background: bool,
    /// Build the tests and the simulator with this sanitizer. This needs a nightly toolchain and,
    /// for threads, the sources of the standard library.
    #[arg(long, value_name = "WHICH")]
    sanitizer: Option<Sanitizer>,
    /// Run only tests whose names contain this text.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Run only the tests of these crates.
    #[arg(long, value_name = "CRATE")]
    package: Vec<String>,
    /// Build the tests of the whole workspace with all features. If `cargo xtask test` has built
    /// the other tests, nothing has to be built.
    #[arg(long, conflicts_with = "sanitizer")]
    workspace: bool,
    /// Stop a test after this many seconds. It then counts as failed.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    patience: u64,
    /// The CUDA version of the simulated driver, for example 12030 for 12.3. If a test ends because
    /// this version is too old, the test is skipped.
    #[arg(long, value_name = "VERSION")]
    driver_version: Option<u32>,
}

/// Builds the programs and runs their tests.
///
/// # Errors
///
/// Fails if the programs cannot be built or started, or if there is no test. A failed test is not
/// returned as an error: it sets the exit code.
pub fn run(arguments: &Arguments, suites: &Suites) -> Result<ExitCode, TaskError> {
    let asked = &arguments.package;
    let wanted = |own: &&&str| asked.is_empty() || asked.iter().any(|one| one == **own);
    let packages: Vec<&str> = suites.packages.iter().filter(wanted).copied().collect();
    let whole = arguments.workspace.then_some(suites.features);
    let programs = programs::build(&packages, arguments.sanitizer, whole, suites.asks_the_loader)?;
    let run = Run {
        seed: arguments.first_seed,
        background: arguments.background,
        driver_version: arguments.driver_version,
        patience: Duration::from_secs(arguments.patience),
        place: 0,
    };
    let tally = several::run(&cases(&programs, arguments), run)?;
    if tally.passed + tally.failed + tally.skipped == 0 {
        return Err("no test ran: no test has that name".into());
    }
    println!("\n{} passed, {} failed, {} skipped", tally.passed, tally.failed, tally.skipped);
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns all requested cases, ordered by seed.
fn cases<'p>(programs: &'p [Program], arguments: &Arguments) -> Vec<Case<'p>> {
    let seeds = arguments.first_seed..arguments.first_seed.saturating_add(arguments.seeds);
    let chosen = |test: &&String| arguments.only.as_ref().is_none_or(|part| test.contains(part));
    let of_program = |seed, program: &'p Program| {
        let tests = program.tests.iter().filter(chosen);
        tests.map(move |test| Case { program, test, seed }).collect::<Vec<_>>()
    };
    let of_seed = |seed| programs.iter().flat_map(move |program| of_program(seed, program));
    seeds.flat_map(of_seed).collect()
}
