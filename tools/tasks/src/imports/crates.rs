//! The imports that the crates in the workspace may have, from the last column of ARCHITECTURE's
//! table of crates.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::TaskError;
use crate::workspace;

#[derive(Deserialize)]
struct Manifests {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `dev` for dependencies of the crate's tests; `None` for dependencies of the crate itself.
    kind: Option<String>,
}

/// Returns the dependencies in the manifests that the table does not allow.
///
/// # Errors
///
/// Fails if cargo does not describe the workspace.
pub(super) fn complaints(page: &str) -> Result<Vec<String>, TaskError> {
    let manifests: Manifests = workspace::describe()?;
    Ok(against(&table(page), &manifests))
}

fn against(table: &BTreeMap<&str, &str>, manifests: &Manifests) -> Vec<String> {
    let mut complaints = Vec::new();
    for package in &manifests.packages {
        let name = &package.name;
        let Some(may) = table.get(name.as_str()) else {
            complaints.push(format!("the table of crates in ARCHITECTURE.md lacks `{name}`"));
            continue;
        };
        let own = package.dependencies.iter().filter(|dependency| dependency.kind.is_none());
        for dependency in own.filter(|dependency| !allows(may, &dependency.name)) {
            complaints.push(format!("`{name}` must not import `{}`", dependency.name));
        }
    }
    for name in table.keys() {
        if !manifests.packages.iter().any(|package| package.name == *name) {
            complaints.push(format!(
                "the table of crates in ARCHITECTURE.md lists `{name}`, which is not a crate"
            ));
        }
    }
    complaints
}

/// Returns `true` if a cell names the dependency or allows everything.
fn allows(may: &str, dependency: &str) -> bool {
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '-' || letter == '_';
    may.trim() == "anything" || may.split(|letter| !is_name(letter)).any(|word| word == dependency)
}

/// Returns the rows between the heading "The crates" and the next heading, as the name and the last
/// cell. Several crates may share a row.
fn table(page: &str) -> BTreeMap<&str, &str> {
    let lines = page.lines().skip_while(|line| line.trim_start_matches('#').trim() != "The crates");
    let rows = lines.skip(1).take_while(|line| !line.starts_with('#'));
    let cells = rows.filter_map(|line| {
        let names = line.strip_prefix("| `")?.split('|').next()?;
        Some((names, line.trim_end().trim_end_matches('|').rsplit('|').next()?))
    });
    // The first backtick has been removed, so every other part is a name.
    cells
        .flat_map(|(names, may)| names.split('`').step_by(2).map(move |name| (name, may)))
        .filter(|(name, _)| !name.trim().is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Manifests, against, table};

    const PAGE: &str = "## The crates\n\n| crate | holds | may import |\n|---|---|---|\n\
        | `a` | one | nothing |\n| `b` | two | a; serde behind a feature |\n| `c`, `e` | all | anything |\n";

    fn complaints(manifests: &str) -> Vec<String> {
        let manifests: Manifests = serde_json::from_str(manifests).unwrap();
        against(&table(PAGE), &manifests)
    }

    #[test]
    fn a_dependency_that_no_row_names_is_found() {
        let manifests = r#"{ "packages": [
            { "name": "a", "dependencies": [{ "name": "serde_json", "kind": null }, { "name": "x", "kind": "dev" }] },
            { "name": "b", "dependencies": [{ "name": "serde", "kind": null }, { "name": "a", "kind": null }] },
            { "name": "c", "dependencies": [{ "name": "y", "kind": null }] },
            { "name": "e", "dependencies": [{ "name": "z", "kind": null }] }
        ] }"#;
        assert_eq!(complaints(manifests), ["`a` must not import `serde_json`"]);
    }

    #[test]
    fn crates_and_rows_are_the_same() {
        let said = complaints(r#"{ "packages": [{ "name": "d", "dependencies": [] }] }"#);
        assert_eq!(said.len(), 5, "{said:?}");
    }
}
