//! `cargo xtask mutants`: small faults planted into the sources, one at a time, to see whether a test
//! notices.
//!
//! The crate cargo-mutants plants them, in a copy of the tree. This task selects the directories,
//! the share of the mutants, and the tests that judge them. The last line is
//! `N passed, N failed, N skipped`. It takes hours and is no part of `cargo xtask test`. How to
//! read it: `docs/mutants.md`.

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
    /// Draw other mutants. The same seed draws the same ones.
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    seed: u64,
    /// Draw the number of mutants that two cores try in this time.
    #[arg(long, value_name = "MINUTES", default_value_t = 120)]
    minutes: u64,
    /// Draw this share of all, however long it takes.
    #[arg(long, value_name = "PERCENT", conflicts_with = "minutes")]
    share: Option<f64>,
    /// Draw only in directories whose paths contain this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Try this number of mutants at a time, each in a copy of the tree.
    #[arg(long, value_name = "N", default_value_t = 1)]
    jobs: usize,
    /// List the drawn mutants, and try none.
    #[arg(long)]
    list: bool,
}

/// An area with its mutants, and those that were drawn.
struct Drawn {
    area: Area,
    all: usize,
    mutants: Vec<Mutant>,
}

/// Draws mutants, tries them, and prints those that survive.
///
/// # Errors
///
/// If the tests fail without a mutant, or cargo-mutants fails. A survivor is not an error: it is
/// counted, and sets the exit code.
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

/// Draws the mutants to try: the same share of every selected area.
fn draw(arguments: &Arguments) -> Result<Vec<Drawn>, TaskError> {
    let wanted = |area: &&Area| {
        arguments.only.as_ref().is_none_or(|part| area.directory.contains(part.as_str()))
    };
    let mut listed = Vec::new();
    for &area in AREAS.iter().filter(wanted) {
        listed.push((area, command::list(&area)?));
    }
    if listed.is_empty() {
        return Err("nothing is mutated in a directory of that name".into());
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
