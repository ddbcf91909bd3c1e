//! `--add`: counts the cases that the committed figures lack, and adds them to the figures.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use super::figures::Figures;
use super::machine::Machine;
use super::programs::Programs;
use super::{callgrind, check, report};
use crate::TaskError;

/// Counts all cases and adds the new ones to the figures. Earlier measurements do not change. New
/// cases have no times, because times from another run, when the machine has another load, cannot
/// be compared.
pub(crate) fn run(folder: &Path) -> Result<ExitCode, TaskError> {
    let committed = fs::read_to_string(folder.join("benchmarks.json"))?;
    let mut figures: Figures = serde_json::from_str(&committed)?;
    let machine = Machine::describe();
    if let Some(why) = check::differs(&figures.machine, &machine).or_else(callgrind::missing) {
        return Err(why.into());
    }
    let programs = Programs::build(&[])?;
    let added = figures.add(Figures::count(&programs, machine)?);
    // The held bytes are also counted, because they are the same in every run.
    figures.held = programs.held()?;
    println!("{added} new cases");
    report::write(&figures, folder)?;
    Ok(ExitCode::SUCCESS)
}
