//! `cargo xtask sim-test`: the tests that run on the simulated CUDA driver, each in a process.
//!
//! The simulator is one per process, and so are its seed, its limits and its reports: a process a
//! test is how nothing of one test reaches the next. Whatever is ignored in the crates named here is
//! such a test. The last line is `N passed, N failed, N skipped`; nothing of it is a GPU result.

mod process;
mod programs;
mod sanitizer;
mod several;

use std::process::ExitCode;

use process::Ending;
use programs::Program;
pub(crate) use programs::simulated_driver;
use sanitizer::Sanitizer;

use crate::TaskError;

/// The crates with tests that run on the simulator.
///
/// GPU tests ask for whatever driver there is, and are shown the simulator as one; the others load it themselves.
const PACKAGES: &[&str] =
    &["cuda-sim-control", "driver-conformance", "pool-kernels", "device-tests", "pool-encoder"];

/// What `cargo xtask sim-test` accepts.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Run every test with so many seeds, one after the other.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seeds: u64,
    /// The first of them.
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    first_seed: u64,
    /// Let a thread run what can run, as a device does, and not only what is forced.
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
    /// Build the tests of the whole workspace, with all features: nothing has to be built where
    /// `cargo xtask test` has run the others before.
    #[arg(long, conflicts_with = "sanitizer")]
    workspace: bool,
    /// Seconds after which a test is stopped, and has failed.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    patience: u64,
    /// The version of CUDA that the simulated driver says, as 12030 for 12.3. A test that ends because that is too
    /// old for what it asks is skipped.
    #[arg(long, value_name = "VERSION")]
    driver_version: Option<u32>,
}

/// What happened so far.
#[derive(Debug, Default)]
struct Tally {
    passed: usize,
    failed: usize,
    skipped: usize,
}

/// Builds the programs and runs their tests.
///
/// # Errors
///
/// When they cannot be built or started, and when there is no test. A failed test is no such error:
/// the exit code tells it.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let asked = &arguments.package;
    let wanted = |own: &&&str| asked.is_empty() || asked.iter().any(|one| one == **own);
    let packages: Vec<&str> = PACKAGES.iter().filter(wanted).copied().collect();
    let programs = programs::build(&packages, arguments.sanitizer, arguments.workspace)?;
    let tally = several::run(&cases(&programs, arguments), arguments)?;
    if tally.passed + tally.failed + tally.skipped == 0 {
        return Err("no test was run: nothing is of that name".into());
    }
    println!("\n{} passed, {} failed, {} skipped", tally.passed, tally.failed, tally.skipped);
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A test with a seed.
#[derive(Debug)]
struct Case<'p> {
    program: &'p Program,
    test: &'p str,
    seed: u64,
}

/// All that was asked for: seed by seed.
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

impl Tally {
    /// Counts a test, and says what there is to say.
    fn add(&mut self, case: &Case<'_>, ending: Ending) {
        let name = format!("{} {}, seed {}", case.program.package, case.test, case.seed);
        match ending {
            Ending::Passed(figures) => {
                self.passed += 1;
                figures.iter().for_each(|figure| println!("{name}: {figure}"));
            }
            Ending::NotAsked(why) => {
                self.skipped += 1;
                println!("SKIPPED: {name}: {why}");
            }
            Ending::Failed(output) => {
                self.failed += 1;
                println!("FAILED: {name}\n{output}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::PACKAGES;
    use tasks::workspace;

    #[derive(serde::Deserialize)]
    struct Manifests {
        packages: Vec<Package>,
    }

    #[derive(serde::Deserialize)]
    struct Package {
        name: String,
    }

    #[test]
    fn every_crate_named_here_is_in_the_workspace() {
        let manifests: Manifests = workspace::describe().unwrap();
        for own in PACKAGES {
            assert!(manifests.packages.iter().any(|package| package.name == *own), "{own}");
        }
    }
}
