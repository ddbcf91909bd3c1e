//! The output of a run: the relevant part of a failed command, the table of steps, and the counts.

use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};

use crate::tally::Tally;

/// The maximum number of lines that are printed for a failed command. The log contains all lines.
const PRINTED_LINES: usize = 150;

/// The beginnings and ends of lines that say nothing about a failure.
const NOISE_AT_START: &[&str] = &[
    "Compiling ",
    "Checking ",
    "Documenting ",
    "Downloaded ",
    "Downloading ",
    "Running ",
    "running ",
    "test result: ok",
];
const NOISE_AT_END: &[&str] = &["... ok", "... ignored"];

/// The outcome of a step.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) name: &'static str,
    pub(super) time: Duration,
    pub(super) tally: Tally,
    /// The reason why the step was skipped, or where the output of a failed command is.
    pub(super) note: String,
}

/// Returns the end of a failed command's output, without lines about what succeeded.
pub(super) fn excerpt(output: &str) -> String {
    let lines: Vec<&str> = output.lines().filter(|line| !is_noise(line)).collect();
    lines[lines.len().saturating_sub(PRINTED_LINES)..].join("\n")
}

fn is_noise(line: &str) -> bool {
    let line = line.trim();
    line.is_empty()
        || NOISE_AT_START.iter().any(|start| line.starts_with(start))
        || NOISE_AT_END.iter().any(|end| line.ends_with(end))
}

/// Formats a step that has just ended.
pub(super) fn line(outcome: &Outcome) -> String {
    let counts = closing_line(outcome.tally);
    let note = if outcome.note.is_empty() { "" } else { "; " };
    let Outcome { name, time, note: text, .. } = outcome;
    format!("{name} in {} s: {counts}{note}{text}", seconds(*time))
}

/// Returns a table with one line for each step. Steps that were left out come last, without counts.
pub(super) fn table(outcomes: &[Outcome], left_out: &[&str]) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(["step", "seconds", "passed", "failed", "skipped", ""]);
    for outcome in outcomes {
        table.add_row([
            outcome.name.to_owned(),
            seconds(outcome.time),
            outcome.tally.passed.to_string(),
            outcome.tally.failed.to_string(),
            outcome.tally.skipped.to_string(),
            outcome.note.clone(),
        ]);
    }
    for name in left_out {
        table.add_row([*name, "", "", "", "", "not changed"]);
    }
    for column in table.column_iter_mut().skip(1).take(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.trim_fmt()
}

/// Formats seconds with one digit after the decimal point.
fn seconds(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64())
}

/// Returns the last line of a run.
pub(super) fn closing_line(tally: Tally) -> String {
    let Tally { passed, failed, skipped } = tally;
    format!("{passed} passed, {failed} failed, {skipped} skipped")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Outcome, PRINTED_LINES, closing_line, excerpt, line, table};
    use crate::tally::Tally;

    fn outcome(name: &'static str, note: &str) -> Outcome {
        Outcome {
            name,
            time: Duration::from_millis(12_340),
            tally: Tally { passed: 7, failed: 0, skipped: 1 },
            note: note.to_owned(),
        }
    }

    #[test]
    fn a_step_ends_with_its_counts_and_its_note() {
        let line = line(&outcome("no-std", "SKIPPED: no nightly"));
        assert_eq!(line, "no-std in 12.3 s: 7 passed, 0 failed, 1 skipped; SKIPPED: no nightly");
        let line = super::line(&outcome("clippy", ""));
        assert!(line.ends_with("1 skipped"), "{line}");
    }

    #[test]
    fn an_excerpt_keeps_the_end_and_drops_the_noise() {
        let failures = "thread 'a' panicked at src/lib.rs:3\n".repeat(PRINTED_LINES + 10);
        let output = format!("first\n   Compiling pool\ntest b ... ok\n\n{failures}last\n");
        let excerpt = excerpt(&output);
        assert_eq!(excerpt.lines().count(), PRINTED_LINES);
        assert!(excerpt.ends_with("\nlast") && !excerpt.contains("first"));
        assert_eq!(super::excerpt("one\ntest b ... ok\ntwo"), "one\ntwo");
    }

    #[test]
    fn a_table_has_a_line_for_each_step() {
        let outcomes = [outcome("clippy", ""), outcome("no-std", "SKIPPED: no nightly")];
        let table = table(&outcomes, &["planner"]);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 4, "{table}");
        assert!(lines[1].contains("clippy") && lines[1].contains("12.3"), "{table}");
        assert!(lines[2].ends_with("SKIPPED: no nightly"), "{table}");
        assert_eq!(Vec::from_iter(lines[3].split_whitespace()), ["planner", "not", "changed"]);
    }

    #[test]
    fn the_closing_line_is_exact() {
        let tally = Tally { passed: 12, failed: 0, skipped: 3 };
        assert_eq!(closing_line(tally), "12 passed, 0 failed, 3 skipped");
    }
}
