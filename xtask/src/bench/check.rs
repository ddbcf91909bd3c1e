//! `--check`: compares instructions and heap allocations with the committed figures.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use super::callgrind;
use super::figures::{Cell, Figures};
use super::machine::Machine;
use super::programs::Programs;
use crate::TaskError;

/// The number of additional instructions that is not treated as a regression. A changed compiler
/// flag or an unrelated function sometimes moves a register.
const TOLERANCE: f64 = 2.0;

/// The share of additional instructions that is not treated as a regression in cases of more than
/// [`MAPS`] instructions. They fill hash maps, whose seeds are addresses: each build has others.
const TOLERANCE_OF_MAPS: f64 = 0.001;

/// The instructions above which a case is one with hash maps.
const MAPS: f64 = 100_000.0;

/// The exit code if the figures are not comparable.
const NOT_COMPARABLE: u8 = 2;

/// Counts all cases and compares the counts.
pub(crate) fn run(committed: &Path) -> Result<ExitCode, TaskError> {
    let committed: Figures = serde_json::from_str(&fs::read_to_string(committed)?)?;
    let machine = Machine::describe();
    if let Some(why) = differs(&committed.machine, &machine).or_else(callgrind::missing) {
        println!("SKIPPED: {why}");
        return Ok(ExitCode::from(NOT_COMPARABLE));
    }
    let counted = Figures::count(&Programs::build(&[])?, machine)?;
    let comparison = compare(&committed.cells, &counted.cells);
    for line in &comparison.lines {
        println!("{line}");
    }
    println!(
        "{} counts compared, {} regressions; instructions may increase by {TOLERANCE}, or by 0.1 % with hash maps",
        comparison.compared, comparison.regressions
    );
    Ok(if comparison.regressions == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

pub(super) fn differs(committed: &Machine, here: &Machine) -> Option<String> {
    let pairs = [
        ("compiled with", &committed.compiler, &here.compiler),
        ("compiled for", &committed.target, &here.target),
    ];
    let (what, there, here) = pairs.into_iter().find(|(_, there, here)| there != here)?;
    Some(format!("the committed figures are for code {what} {there}, but this is {here}"))
}

#[derive(Debug, Default)]
struct Comparison {
    compared: usize,
    regressions: usize,
    lines: Vec<String>,
}

/// Compares the counts. Only this project's columns can regress; counts of other libraries are only
/// printed.
fn compare(committed: &[Cell], counted: &[Cell]) -> Comparison {
    let mut comparison = Comparison::default();
    for before in committed.iter().filter(|cell| cell.name.column.starts_with("pool")) {
        let Some(now) = counted.iter().find(|cell| cell.name == before.name) else {
            if before.instructions.is_some() || before.allocations.is_some() {
                comparison.regression(before, "is gone", None);
            }
            continue;
        };
        let tolerance = tolerance(before.instructions.unwrap_or_default());
        comparison.number(before, "instructions", before.instructions, now.instructions, tolerance);
        comparison.number(before, "heap allocations", before.allocations, now.allocations, 0.0);
    }
    comparison
}

/// Returns the additional instructions that are not treated as a regression.
fn tolerance(before: f64) -> f64 {
    if before > MAPS { before * TOLERANCE_OF_MAPS } else { TOLERANCE }
}

impl Comparison {
    fn number(
        &mut self,
        cell: &Cell,
        what: &str,
        before: Option<f64>,
        now: Option<f64>,
        tolerance: f64,
    ) {
        let Some(before) = before else { return };
        let Some(now) = now else {
            self.regression(cell, &format!("{what} no longer counted"), None);
            return;
        };
        self.compared += 1;
        if now > before + tolerance {
            self.regression(cell, what, Some((before, now)));
        }
    }

    fn regression(&mut self, cell: &Cell, what: &str, numbers: Option<(f64, f64)>) {
        self.regressions += 1;
        let name = &cell.name;
        let numbers = numbers.map(|(before, now)| format!(": {before} before, {now} now"));
        self.lines.push(format!(
            "{} {}, {}: {what}{}",
            name.workload,
            name.variant,
            name.column,
            numbers.unwrap_or_default()
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::Name;
    use super::*;

    fn cell(column: &str, instructions: f64, allocations: f64) -> Cell {
        Cell {
            name: Name {
                workload: "small arrays".to_owned(),
                variant: "three".to_owned(),
                column: column.to_owned(),
            },
            time: None,
            instructions: Some(instructions),
            allocations: Some(allocations),
            minor_faults: None,
        }
    }

    #[test]
    fn two_instructions_more_are_allowed_and_no_allocation() {
        let before = [cell("pool", 29.0, 0.0)];
        assert_eq!(compare(&before, &[cell("pool", 31.0, 0.0)]).regressions, 0);
        assert_eq!(compare(&before, &[cell("pool", 31.5, 0.0)]).regressions, 1);
        assert_eq!(compare(&before, &[cell("pool", 20.0, 0.5)]).regressions, 1);
        assert_eq!(compare(&before, &[]).regressions, 1, "a case that is gone");
    }

    #[test]
    fn a_thousandth_more_is_allowed_with_hash_maps() {
        let before = [cell("pool", 1_000_000.0, 0.0)];
        assert_eq!(compare(&before, &[cell("pool", 1_000_900.0, 0.0)]).regressions, 0);
        assert_eq!(compare(&before, &[cell("pool", 1_001_100.0, 0.0)]).regressions, 1);
        let before = [cell("pool", 5_000.0, 0.0)];
        assert_eq!(compare(&before, &[cell("pool", 5_003.0, 0.0)]).regressions, 1);
    }

    #[test]
    fn a_peer_cannot_regress() {
        assert_eq!(compare(&[cell("bumpalo", 74.0, 0.0)], &[]).regressions, 0);
    }
}
