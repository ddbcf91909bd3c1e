//! `--add`: counts of cases that the committed figures do not have yet, beside those that they have.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use super::figures::Figures;
use super::machine::Machine;
use super::programs::Programs;
use super::{callgrind, check, report};
use crate::TaskError;

/// Counts, and writes the figures with the new cases. Earlier measurements stay as they are, and
/// new cases have no times: times of another run, on a machine with another load, could not be
/// compared.
pub(crate) fn run(folder: &Path) -> Result<ExitCode, TaskError> {
    let committed = fs::read_to_string(folder.join("benchmarks.json"))?;
    let mut figures: Figures = serde_json::from_str(&committed)?;
    let machine = Machine::describe();
    if let Some(why) = check::differs(&figures.machine, &machine).or_else(callgrind::missing) {
        return Err(why.into());
    }
    let programs = Programs::build(&[])?;
    let added = figures.add(Figures::count(&programs, machine)?);
    // The held bytes are counted, too: they are the same in every run.
    figures.held = programs.held()?;
    println!("{added} cases are new");
    report::write(&figures, folder)?;
    Ok(ExitCode::SUCCESS)
}
