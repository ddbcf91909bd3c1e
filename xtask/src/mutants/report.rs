//! The output at the end of a run: one line for each area, the survivors, and the counts.

use comfy_table::{CellAlignment, Table, TableComponent, presets};

use super::areas::Area;
use super::explained::Explained;
use super::outcomes::Outcomes;

/// An area after its mutants have been tested.
#[derive(Debug)]
pub(super) struct Judged {
    pub(super) area: Area,
    /// The number of mutants, including those that were not tested.
    pub(super) all: usize,
    pub(super) outcomes: Outcomes,
}

/// The counts in the last line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) skipped: usize,
}

/// Returns the whole table.
pub(super) fn table(areas: &[Judged]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_style(TableComponent::HeaderLines, '─');
    table.set_style(TableComponent::MiddleHeaderIntersections, '─');
    table.set_header([
        "directory",
        "mutants",
        "tried",
        "caught",
        "hung",
        "unviable",
        "surviving",
        "seconds\neach",
    ]);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for Judged { area, all, outcomes } in areas {
        table.add_row([
            area.directory.to_owned(),
            all.to_string(),
            outcomes.count().to_string(),
            outcomes.caught.to_string(),
            outcomes.hung.len().to_string(),
            outcomes.unviable.to_string(),
            outcomes.survived.len().to_string(),
            format!("{:.1}", outcomes.seconds / outcomes.count().max(1) as f64),
        ]);
    }
    table
}

/// Returns the lines below the table, and the counts. A mutant that is detected or makes the tests
/// hang counts as passed, and a survivor as failed. A mutant that does not compile counts as
/// skipped, and so does a survivor that is explained.
pub(super) fn close(areas: &[Judged], mut explained: Explained) -> (Vec<String>, Tally) {
    let (mut lines, mut tally) = (Vec::new(), Tally::default());
    for Judged { outcomes, .. } in areas {
        tally.passed += outcomes.caught + outcomes.hung.len();
        tally.skipped += outcomes.unviable;
        lines.extend(outcomes.hung.iter().map(|name| format!("hung: {name}")));
        for name in &outcomes.survived {
            match explained.take(name) {
                Some(reason) => {
                    tally.skipped += 1;
                    lines.push(format!("explained: {name}\n    {reason}"));
                }
                None => {
                    tally.failed += 1;
                    lines.push(format!("SURVIVED: {name}"));
                }
            }
        }
    }
    (lines, tally)
}

/// Returns `12 of 400 mutants (3.0 %), seed 7`.
pub(super) fn share(areas: &[Judged], seed: u64) -> String {
    let all: usize = areas.iter().map(|area| area.all).sum();
    let tried: usize = areas.iter().map(|area| area.outcomes.count()).sum();
    let percent = 100.0 * tried as f64 / all.max(1) as f64;
    format!("{tried} of {all} mutants ({percent:.1} %), seed {seed}")
}

#[cfg(test)]
mod tests {
    use super::super::areas::AREAS;
    use super::super::explained::Explained;
    use super::super::outcomes::Outcomes;
    use super::{Judged, Tally, close, share, table};

    fn judged() -> [Judged; 1] {
        let name = |line: u32| format!("crates/a/src/b.rs:{line}:9: replace + with - in f");
        let outcomes = Outcomes {
            caught: 20,
            hung: vec!["crates/a/src/b.rs:8:1: delete ! in g".to_owned()],
            unviable: 3,
            survived: vec![name(5), name(6)],
            seconds: 65.0,
        };
        [Judged { area: AREAS[0], all: 104, outcomes }]
    }

    #[test]
    fn survivors_fail_unless_they_are_explained() {
        let explained =
            Explained::parse("| `crates/a/src/b.rs` | `replace + with - in f` | adds 0 |");
        let (lines, tally) = close(&judged(), explained);
        assert_eq!(tally, Tally { passed: 21, failed: 1, skipped: 4 });
        assert_eq!(
            lines,
            [
                "hung: crates/a/src/b.rs:8:1: delete ! in g",
                "explained: crates/a/src/b.rs:5:9: replace + with - in f\n    adds 0",
                "SURVIVED: crates/a/src/b.rs:6:9: replace + with - in f",
            ]
        );
    }

    #[test]
    fn a_line_says_what_became_of_an_area() {
        let table = table(&judged()).to_string();
        let line = table.lines().last().unwrap();
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(cells, ["crates/pool-core/src/raw", "104", "26", "20", "1", "3", "2", "2.5"]);
        let widths: Vec<usize> = table.lines().map(|line| line.chars().count()).collect();
        assert!(widths.iter().all(|&width| width == widths[0]), "{table}");
    }

    #[test]
    fn the_share_is_of_all() {
        assert_eq!(share(&judged(), 7), "26 of 104 mutants (25.0 %), seed 7");
        assert_eq!(share(&[], 7), "0 of 0 mutants (0.0 %), seed 7");
    }
}
