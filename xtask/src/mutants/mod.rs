//! `cargo xtask mutants`: introduces small faults into the sources, one at a time, and checks that
//! a test detects each of them.
//!
//! The program cargo-mutants changes a copy of the source tree. This task selects the directories,
//! the share of mutants, and the tests that run on them. The last line is
//! `N passed, N failed, N skipped`. The task takes hours and is not part of `cargo xtask test`.
//! `docs/mutants.md` explains how to read the results.

mod areas;
mod command;
mod explained;
mod outcomes;
mod report;
mod sample;

use std::process::ExitCode;

use areas::{AREAS, Area};
use explained::Explained;
use outcomes::Mutant;
use report::{Judged, Tally};
use sample::Share;

use crate::TaskError;
use tasks::workspace::{self, Workspace};

/// The arguments of `cargo xtask mutants`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Select other mutants. The same seed selects the same mutants.
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    seed: u64,
    /// Select the number of mutants that two cores can test in this time.
    #[arg(long, value_name = "MINUTES", default_value_t = 120)]
    minutes: u64,
    /// Select this share of all mutants, however long it takes.
    #[arg(long, value_name = "PERCENT", conflicts_with = "minutes")]
    share: Option<f64>,
    /// Select only from directories whose paths contain this text.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Test this many mutants at the same time, each in its own copy of the source tree.
    #[arg(long, value_name = "N", default_value_t = 1)]
    jobs: usize,
    /// List the selected mutants without testing them.
    #[arg(long)]
    list: bool,
}

/// An area with all its mutants and the selected ones.
struct Drawn {
    area: Area,
    all: usize,
    mutants: Vec<Mutant>,
}

/// Selects mutants, tests them, and prints the survivors.
///
/// # Errors
///
/// Fails if the tests fail without a mutant, or if cargo-mutants fails. A survivor is not returned
/// as an error: it is counted, and sets the exit code.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    if let Some(why) = command::missing() {
        println!("SKIPPED: {why}\n\n0 passed, 0 failed, 1 skipped");
        return Ok(ExitCode::SUCCESS);
    }
    let Workspace { root, target_directory, .. } = workspace::describe()?;
    let drawn = draw(arguments)?;
    if arguments.list {
        for mutant in drawn.iter().flat_map(|drawn| &drawn.mutants) {
            println!("{}", mutant.name);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let explained = Explained::read(&root)?;
    let reports = target_directory.join("xtask/mutants");
    let mut judged = Vec::new();
    for Drawn { area, all, mutants } in drawn {
        println!("{}: {} of {all} mutants", area.directory, mutants.len());
        let outcomes = command::run(&area, &mutants, arguments.jobs, &reports)?;
        judged.push(Judged { area, all, outcomes });
    }
    Ok(close(&judged, explained, arguments.seed))
}

/// Selects the mutants to test. The share is the same in each selected area.
fn draw(arguments: &Arguments) -> Result<Vec<Drawn>, TaskError> {
    let wanted = |area: &&Area| {
        arguments.only.as_ref().is_none_or(|part| area.directory.contains(part.as_str()))
    };
    let mut listed = Vec::new();
    for &area in AREAS.iter().filter(wanted) {
        listed.push((area, command::list(&area)?));
    }
    if listed.is_empty() {
        return Err("no area has a directory of that name".into());
    }
    let counts: Vec<(Area, usize)> =
        listed.iter().map(|(area, mutants)| (*area, mutants.len())).collect();
    let share = match arguments.share {
        Some(percent) => Share::of_percent(percent),
        None => Share::within(arguments.minutes, &counts),
    };
    let draw = |(area, mutants): (Area, Vec<Mutant>)| {
        let all = mutants.len();
        let mutants = sample::draw(mutants, share.of(all), arguments.seed);
        Drawn { area, all, mutants }
    };
    Ok(listed.into_iter().map(draw).collect())
}

/// Prints the table, the survivors and the counts. Returns the exit code of the run.
fn close(judged: &[Judged], explained: Explained, seed: u64) -> ExitCode {
    let (lines, Tally { passed, failed, skipped }) = report::close(judged, explained);
    println!("\n{}\n\n{}", report::table(judged), report::share(judged, seed));
    lines.iter().for_each(|line| println!("{line}"));
    println!("\n{passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
