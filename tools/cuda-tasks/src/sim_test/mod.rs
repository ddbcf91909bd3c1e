//! `cargo xtask sim-test`: the tests that run on the simulated CUDA driver, each in a process.
//!
//! The simulator is one per process, and so are its seed, its limits and its reports. A process for each test keeps
//! the tests apart. An ignored test of the crates in [`Suites`] is such a test. The last line is `N passed, N failed, N
//! skipped`; none of these counts is a GPU result.

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

/// The crates of a workspace with tests that run on the simulator.
#[derive(Clone, Copy, Debug)]
pub struct Suites {
    /// Their names.
    pub packages: &'static [&'static str],
    /// The features that `--workspace` builds all crates with, each as `crate/feature`.
    pub features: &'static [&'static str],
    /// `true` for a program that loads any driver that the loader finds. It gets the simulator under a driver's name;
    /// the other programs load the simulator themselves.
    pub asks_the_loader: fn(&Artifact) -> bool,
}

/// The options of `cargo xtask sim-test`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Run every test with this number of seeds, in turn.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seeds: u64,
    /// The first of them.
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    first_seed: u64,
    /// Let a thread run all work that can run, as a device does, and not only forced work.
    #[arg(long)]
    background: bool,
    /// Build tests and simulator with this sanitizer; needs a nightly toolchain, with the sources
    /// of the standard library for threads.
    #[arg(long, value_name = "WHICH")]
    sanitizer: Option<Sanitizer>,
    /// Only tests whose names have this in them.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Only this crate, or these.
    #[arg(long, value_name = "CRATE")]
    package: Vec<String>,
    /// Build the tests of the whole workspace, with all features: no build is necessary if `cargo xtask test` has run
    /// the others before.
    #[arg(long, conflicts_with = "sanitizer")]
    workspace: bool,
    /// Seconds after which a test is stopped, and has failed.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    patience: u64,
    /// The version of CUDA that the simulated driver reports, as 12030 for 12.3. A test that ends because the version
    /// is too old for it is skipped.
    #[arg(long, value_name = "VERSION")]
    driver_version: Option<u32>,
}

/// Builds the programs and runs their tests.
///
/// # Errors
///
/// Fails if they cannot be built or started, or if there is no test. A failed test is not an error: it sets the exit
/// code.
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
        return Err("no test was run: nothing is of that name".into());
    }
    println!("\n{} passed, {} failed, {} skipped", tally.passed, tally.failed, tally.skipped);
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// All requested runs, seed by seed.
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
