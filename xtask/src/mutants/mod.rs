//! `cargo xtask mutants`: small faults planted into the sources, one at a time, to see whether a test
//! notices.
//!
//! The crate cargo-mutants plants them, in a copy of the tree; here it is said where, which share of
//! them, and by which tests they are judged. The last line is `N passed, N failed, N skipped`. It takes
//! hours and is no part of `cargo xtask test`. How to read it: `docs/mutants.md`.

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

/// What `cargo xtask mutants` accepts.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Draw other mutants: the same seed draws the same ones.
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    seed: u64,
    /// Draw as many as two cores try in this time.
    #[arg(long, value_name = "MINUTES", default_value_t = 120)]
    minutes: u64,
    /// Draw this share of all, whatever it takes.
    #[arg(long, value_name = "PERCENT", conflicts_with = "minutes")]
    share: Option<f64>,
    /// Only in directories whose paths have this in them.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Try so many at a time, each in a copy of the tree.
    #[arg(long, value_name = "N", default_value_t = 1)]
    jobs: usize,
    /// List what is drawn, and try nothing.
    #[arg(long)]
    list: bool,
}

/// An area with what there is of it, and what was drawn.
struct Drawn {
    area: Area,
    all: usize,
    mutants: Vec<Mutant>,
}

/// Draws mutants, tries them, and says which survive.
///
/// # Errors
///
/// When the tests fail without a mutant, or cargo-mutants cannot do its work. A survivor is no such
/// error: it is counted, and the exit code tells it.
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

/// What is tried: the same share of every area that was asked for.
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

/// Prints the table, the survivors and the counts; the exit code of the run.
fn close(judged: &[Judged], explained: Explained, seed: u64) -> ExitCode {
    let (lines, Tally { passed, failed, skipped }) = report::close(judged, explained);
    println!("\n{}\n\n{}", report::table(judged), report::share(judged, seed));
    lines.iter().for_each(|line| println!("{line}"));
    println!("\n{passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
