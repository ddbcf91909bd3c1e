//! `cargo xtask words`: checks comments and documents against the rules of `docs/writing.md`.
//!
//! The prose in Rust comments and Markdown is split into sentences (`prose`), and the `rules`
//! refuse some of them. A committed table (`allowed`) states how many refused sentences each area
//! may still contain. Its figures may only fall. The subjects of new `commits` are also checked.
//! The names of public types and the words in the glossary must be `distinct`. The last line counts
//! the checks: one for each area, one for commits, and two for names.

mod allowed;
mod commits;
mod distinct;
mod prose;
mod rules;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::TaskError;
use crate::checks::Checks;
use crate::programs::output;
use crate::workspace::{self, Workspace};

use allowed::Allowed;
use rules::Found;

/// The arguments of `cargo xtask words`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Write the table of allowances for the whole repository. Unless the table is missing, figures
    /// may only fall.
    #[arg(long, conflicts_with = "list")]
    write: bool,
    /// Check nothing, and print every refused sentence in areas whose names start with this text.
    #[arg(long, value_name = "AREA")]
    list: Option<String>,
}

/// The part of the repository that a workspace checks.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// Directories that another workspace checks, relative to the root of the workspace.
    pub except: &'a [&'a str],
    /// The table of allowances, relative to the root of the repository.
    pub table: &'a str,
    /// The commit after which subjects are checked. `None` means that no subjects are checked.
    pub commits_since: Option<&'a str>,
    /// The crates in the directory `crates` whose public types must have distinct names. If the
    /// list is empty, neither names nor the glossary are checked.
    pub distinct_types_of: &'a [&'a str],
}

/// Records of past measurements, which are not edited.
const RECORDS: &str = ":(top,exclude)docs/measurements";

/// Checks the comments and documents of the workspace, and the subjects of commits.
///
/// # Errors
///
/// Fails if a file cannot be read, or if `--write` would raise a figure. A refused sentence is not
/// returned as an error: it sets the exit code.
pub fn run(arguments: &Arguments, scope: &Scope<'_>) -> Result<ExitCode, TaskError> {
    let workspace: Workspace = workspace::describe()?;
    let root = repository(&workspace.root)?;
    let table = root.join(scope.table);
    if arguments.write {
        let areas = areas(&root, &root, &[])?;
        let (rows, total) = write(&table, &areas)?;
        println!("{}: {rows} rows, {total} sentences", scope.table);
        return Ok(ExitCode::SUCCESS);
    }
    let areas = areas(&workspace.root, &root, scope.except)?;
    if let Some(prefix) = &arguments.list {
        let chosen = areas.iter().filter(|(area, _)| area.starts_with(prefix));
        for refusal in chosen.flat_map(|(_, found)| &found.refusals) {
            println!("{refusal}");
        }
        return Ok(ExitCode::SUCCESS);
    }
    let allowed = Allowed::parse(&std::fs::read_to_string(&table)?)?;
    let mut checks = Checks::default();
    for (area, found) in &areas {
        checks.that(&format!("{area}, {found}"), allowed.check(area, found));
    }
    if let Some(base) = scope.commits_since {
        commits::check(&root, base, &mut checks);
    }
    if !scope.distinct_types_of.is_empty() {
        distinct::check(&root, scope.distinct_types_of, &mut checks)?;
    }
    println!("\n{checks}");
    Ok(checks.exit_code())
}

/// Writes the table, and returns its number of rows and the sum of its figures.
fn write(table: &Path, areas: &BTreeMap<String, Found>) -> Result<(usize, usize), TaskError> {
    let new = Allowed::of(areas);
    if table.exists() {
        let old = Allowed::parse(&std::fs::read_to_string(table)?)?;
        let raised = new.raised_over(&old);
        if !raised.is_empty() {
            let rows = raised.join("\n    ");
            return Err(format!(
                "these figures must not rise; rewrite the sentences that `--list AREA` prints:\n    {rows}"
            )
            .into());
        }
    }
    std::fs::write(table, new.to_string())?;
    Ok((new.len(), new.total()))
}

/// Returns the root of the repository that contains a workspace.
fn repository(workspace: &Path) -> Result<PathBuf, TaskError> {
    let mut ask = Command::new("git");
    ask.args(["rev-parse", "--show-toplevel"]).current_dir(workspace);
    Ok(PathBuf::from(std::str::from_utf8(&output(&mut ask)?)?.trim_end()))
}

/// Reads all sources and documents below a directory, area by area.
fn areas(
    directory: &Path,
    root: &Path,
    except: &[&str],
) -> Result<BTreeMap<String, Found>, TaskError> {
    let mut list = Command::new("git");
    list.args(["ls-files", "--full-name", "--cached", "--others", "--exclude-standard", "--"]);
    list.args(["*.rs", "*.md", RECORDS]);
    list.args(except.iter().map(|directory| format!(":(exclude){directory}")));
    let listed = output(list.current_dir(directory))?;
    let mut areas: BTreeMap<String, Found> = BTreeMap::new();
    for path in std::str::from_utf8(&listed)?.lines() {
        // The index still contains a deleted file until the next commit.
        if root.join(path).is_file() {
            let text = std::fs::read_to_string(root.join(path))?;
            areas.entry(area(root, path)).or_default().read(path, &text);
        }
    }
    if areas.is_empty() {
        return Err("git lists no sources or documents".into());
    }
    Ok(areas)
}

/// Returns the area of a file: its crate or workspace. Other files belong to their top directory or
/// to `.`.
fn area(root: &Path, path: &str) -> String {
    let of_crate = Path::new(path).ancestors().skip(1).find(|directory| {
        !directory.as_os_str().is_empty() && root.join(directory).join("Cargo.toml").is_file()
    });
    match of_crate {
        Some(directory) => directory.display().to_string(),
        None => path.split_once('/').map_or(".", |(top, _)| top).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::rules::Found;
    use super::{area, write};

    #[test]
    fn an_area_is_a_crate_or_a_top_directory() {
        let root = tempfile::tempdir().unwrap();
        for directory in ["crates/a/src", "sim/b/src", "docs"] {
            fs::create_dir_all(root.path().join(directory)).unwrap();
        }
        for manifest in ["Cargo.toml", "crates/a/Cargo.toml", "sim/Cargo.toml"] {
            fs::write(root.path().join(manifest), "").unwrap();
        }
        let areas = ["crates/a/src/lib.rs", "sim/b/src/lib.rs", "docs/a.md", "README.md"];
        let areas = areas.map(|path| area(root.path(), path));
        assert_eq!(areas, ["crates/a", "sim", "docs", "."]);
    }

    fn areas_with(text: &str) -> BTreeMap<String, Found> {
        let mut found = Found::default();
        found.read("docs/a.md", text);
        BTreeMap::from([("docs".to_owned(), found)])
    }

    #[test]
    fn a_figure_falls_and_does_not_rise() {
        let directory = tempfile::tempdir().unwrap();
        let table = directory.path().join("words.txt");
        let (good, bad) = (areas_with("It fails.\n"), areas_with("Nobody waits.\n"));
        assert_eq!(write(&table, &bad).unwrap(), (1, 1));
        assert_eq!(write(&table, &good).unwrap(), (0, 0));
        let refused = write(&table, &bad).unwrap_err().to_string();
        assert!(refused.contains("docs words: 1, but only 0 allowed"), "{refused}");
        fs::remove_file(&table).unwrap();
        assert_eq!(write(&table, &bad).unwrap(), (1, 1));
    }
}
