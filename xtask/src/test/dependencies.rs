//! Holds `docs/dependencies.md` against the manifests: a dependency without a reason fails here.

use std::collections::BTreeSet;

use serde::Deserialize;

use tasks::workspace::{self, Workspace};

#[derive(Deserialize)]
struct Manifests {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// Set for the crates of this workspace, which need no reason.
    path: Option<String>,
}

/// What the manifests of this workspace, the planner's and the simulator's take from elsewhere, under every feature and for
/// every target.
fn declared(workspace: &Workspace) -> BTreeSet<String> {
    let described = |directory: &str| -> Manifests {
        workspace::describe_at(&workspace.root.join(directory)).unwrap()
    };
    let packages = [".", "planner", "sim"].into_iter().flat_map(|one| described(one).packages);
    let dependencies = packages.flat_map(|package| package.dependencies);
    dependencies.filter(|one| one.path.is_none()).map(|one| one.name).collect()
}

/// The first column of the tables, between its backticks.
fn explained(page: &str) -> BTreeSet<String> {
    let name = |line: &str| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned());
    page.lines().filter_map(name).collect()
}

#[test]
fn every_dependency_has_a_reason_and_every_reason_a_dependency() {
    let workspace: Workspace = workspace::describe().unwrap();
    let page = std::fs::read_to_string(workspace.root.join("docs/dependencies.md")).unwrap();
    let (declared, explained) = (declared(&workspace), explained(&page));
    let difference = |these: &BTreeSet<String>, those| these.difference(those).cloned().collect();
    let without_reason: Vec<String> = difference(&declared, &explained);
    let without_use: Vec<String> = difference(&explained, &declared);
    assert!(declared.len() > 3);
    assert_eq!(without_reason, [""; 0], "add these to docs/dependencies.md");
    assert_eq!(without_use, [""; 0], "docs/dependencies.md explains what is no longer used");
}

/// What a crate is built from with these features, its tests left out: `cargo tree`.
fn tree(package: &str, features: &str) -> BTreeSet<String> {
    let arguments = ["tree", "--edges", "normal,build", "--prefix", "none", "--package", package];
    let answer = std::process::Command::new("cargo")
        .args(arguments)
        .args(["--features", features])
        .output()
        .unwrap();
    assert!(answer.status.success(), "{answer:?}");
    let lines = String::from_utf8(answer.stdout).unwrap();
    lines.lines().filter_map(|line| line.split_once(' ')).map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn only_the_cuda_backend_takes_cuda_in() {
    for package in ["pool-core", "pool-cpu", "pool-plan"] {
        let features = super::features::all_features_of(package).join(",");
        let tree = tree(package, &features);
        assert!(tree.contains(package) && !tree.contains("cudarc"), "{tree:?}");
    }
    assert!(!tree("pool-facade", "cpu,ndarray,half,complex,tracing").contains("cudarc"));
    assert!(tree("pool-facade", "cuda").contains("cudarc"));
}
