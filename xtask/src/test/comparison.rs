//! Checks the README's comparison against `docs/comparison.md`. Each row of that page must name
//! existing tests of the claims in this project's column.

use tasks::workspace::{self, Workspace};

/// Returns the rows of the first table after `heading`, as the first cell and the rest of the line.
fn rows<'p>(page: &'p str, heading: &str) -> Vec<(&'p str, &'p str)> {
    let lines = page.lines().skip_while(|line| *line != heading);
    let table =
        lines.skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|'));
    // The table header and the line below it are skipped.
    let rows = table.skip(2);
    rows.filter_map(|line| line.strip_prefix("| ")?.split_once(" | ")).collect()
}

#[test]
fn each_row_of_the_comparison_has_its_tests() {
    let workspace: Workspace = workspace::describe().unwrap();
    let read = |path: &str| std::fs::read_to_string(workspace.root.join(path)).unwrap();
    let (readme, page) = (read("README.md"), read("docs/comparison.md"));
    let (compared, tested) = (rows(&readme, "## How it compares"), rows(&page, "# Comparison"));
    assert!(compared.len() > 10, "{compared:?}");
    let names = |rows: &[(&str, &str)]| rows.iter().map(|row| row.0.to_owned()).collect::<Vec<_>>();
    assert_eq!(
        names(&compared),
        names(&tested),
        "docs/comparison.md has the same rows as README.md"
    );
    for (row, cells) in &compared {
        let ours = cells.split(" | ").next().unwrap_or_default();
        assert!(ours != "no" && !ours.starts_with("no,"), "our column says no for `{row}`");
    }
    for (row, cells) in tested {
        let tests: Vec<&str> = cells.split('`').skip(1).step_by(2).collect();
        assert!(!tests.is_empty(), "{row}");
        for test in tests {
            let (file, name) = test.split_once("::").unwrap_or((test, ""));
            let text = read(file);
            let attribute = text.split_once(&format!("fn {name}(")).map(|(before, _)| before);
            let is_test = attribute.is_some_and(|before| {
                let attributes = before.trim_end().lines().rev().map(str::trim);
                attributes.take_while(|line| line.starts_with("#[")).any(|line| line == "#[test]")
            });
            assert!(is_test, "{row}: there is no test `{name}` in {file}");
        }
    }
}
