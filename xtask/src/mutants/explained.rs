//! Surviving mutants that no test can detect, with the reasons, from the table in
//! `docs/mutants.md`.
//!
//! A mutant is identified by its file, its function and the replaced text. The line is ignored,
//! because it changes. Each row explains one survivor, so a second survivor with the same text is
//! reported.

use std::path::Path;

use crate::TaskError;

/// The path of the table, relative to the root of the workspace.
const PAGE: &str = "docs/mutants.md";

/// The rows of the table that have not been matched with a survivor yet.
#[derive(Debug)]
pub(super) struct Explained(Vec<Row>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    file: String,
    change: String,
    reason: String,
}

impl Explained {
    /// Reads the table.
    ///
    /// # Errors
    ///
    /// Fails if the page has no such table.
    pub(super) fn read(root: &Path) -> Result<Self, TaskError> {
        Ok(Self::parse(&std::fs::read_to_string(root.join(PAGE))?))
    }

    pub(super) fn parse(page: &str) -> Self {
        Self(page.lines().filter_map(row).collect())
    }

    /// Returns the reason why a mutant survives, if a row exists that explains no other mutant.
    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        let (file, change) = without_place(name)?;
        let place = self.0.iter().position(|row| row.file == file && row.change == change)?;
        Some(self.0.swap_remove(place).reason)
    }
}

/// Parses a row whose first cell is a source file: `| file | change | reason |`. The first two
/// cells are code.
fn row(line: &str) -> Option<Row> {
    // In a table, a vertical bar is escaped, even in code.
    let line = line.strip_prefix("| `crates/")?.strip_suffix(" |")?.replace("\\|", "\u{1}");
    let [file, change, reason] = line.split(" | ").collect::<Vec<_>>().try_into().ok()?;
    let own = |cell: &str| cell.replace('\u{1}', "|");
    let change = change.strip_prefix('`')?.strip_suffix('`')?;
    let file = format!("crates/{}", file.strip_suffix('`')?);
    Some(Row { file, change: own(change), reason: own(reason) })
}

/// Returns `file:line:column: change` without the line and column.
fn without_place(name: &str) -> Option<(&str, &str)> {
    let mut parts = name.splitn(4, ':');
    let (file, change) = (parts.next()?, parts.nth(2)?);
    Some((file, change.trim_start()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::areas::AREAS;
    use super::{Explained, PAGE, Row, row};

    #[test]
    fn a_row_explains_one_survivor() {
        let mut explained = Explained::parse(
            "| file | mutant | why |\n|---|---|---|\n\
             | `crates/a/src/b.rs` | `replace \\| with ^ in Set<'a>::insert` | the bit is 0 |\n",
        );
        let name =
            |line: u32| format!("crates/a/src/b.rs:{line}:7: replace | with ^ in Set<'a>::insert");
        assert_eq!(
            explained.take("crates/a/src/c.rs:1:7: replace | with ^ in Set<'a>::insert"),
            None
        );
        assert_eq!(explained.take(&name(3)).as_deref(), Some("the bit is 0"));
        assert_eq!(explained.take(&name(90)), None, "the second survivor is a different one");
        assert_eq!(explained.take("no mutant"), None);
    }

    #[test]
    fn paths_in_a_change_are_kept() {
        let mut explained =
            Explained::parse("| `crates/a.rs` | `replace f -> u32 with A::b::c()` | why |");
        assert!(explained.take("crates/a.rs:1:2: replace f -> u32 with A::b::c()").is_some());
    }

    #[test]
    fn every_row_of_the_page_is_of_a_file_that_is_mutated() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let page = std::fs::read_to_string(root.join(PAGE)).unwrap();
        for line in
            page.lines().filter(|line| line.starts_with("| `crates/") && line.contains(".rs`"))
        {
            let Some(Row { file, change, reason }) = row(line) else { panic!("no row: {line}") };
            assert!(root.join(&file).is_file(), "{file}");
            assert!(AREAS.iter().any(|area| file.starts_with(area.directory)), "{file}");
            assert!(change.starts_with("replace ") || change.starts_with("delete "), "{change}");
            assert!(reason.len() > 20, "{reason}");
        }
    }
}
