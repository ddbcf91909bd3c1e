//! Compares `docs/dependencies.md` with the manifests. Each dependency needs a reason, and its row
//! must name the crates that use it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use tasks::workspace::{self, Workspace};

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
    /// Set for crates of this workspace, for which no reason is needed.
    path: Option<String>,
}

/// For each dependency, the names of the crates that use it.
type Users = BTreeMap<String, BTreeSet<String>>;

/// Returns the packages in this workspace, and in the workspaces of the planner and the simulator.
fn packages(workspace: &Workspace) -> Vec<Package> {
    let described = |directory: &str| -> Manifests {
        workspace::describe_at(&workspace.root.join(directory)).unwrap()
    };
    [".", "planner", "sim"].into_iter().flat_map(|one| described(one).packages).collect()
}

/// Returns the external dependencies of packages for all features and targets, including those of
/// their tests.
fn declared(packages: &[Package]) -> Users {
    let mut declared = Users::new();
    for package in packages {
        for dependency in package.dependencies.iter().filter(|one| one.path.is_none()) {
            declared.entry(dependency.name.clone()).or_default().insert(package.name.clone());
        }
    }
    declared
}

/// Returns the rows of the tables: a name in backticks, and the crates in `known` that the second
/// column names.
fn explained(page: &str, known: &BTreeSet<&str>) -> Users {
    let row = |line: &str| {
        let (name, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
        let (place, _) = rest.split_once(" | ")?;
        // A command such as `xtask bench` represents its crate.
        let quoted = place.split('`').skip(1).step_by(2).filter_map(|text| text.split(' ').next());
        let users = quoted.filter(|user| known.contains(user)).map(str::to_owned).collect();
        Some((name.to_owned(), users))
    };
    page.lines().filter_map(row).collect()
}

#[test]
fn every_dependency_has_a_reason_and_the_names_of_its_users() {
    let workspace: Workspace = workspace::describe().unwrap();
    let page = std::fs::read_to_string(workspace.root.join("docs/dependencies.md")).unwrap();
    let packages = packages(&workspace);
    let known = packages.iter().map(|package| package.name.as_str()).collect();
    let (declared, explained) = (declared(&packages), explained(&page, &known));
    assert!(declared.len() > 3);
    let missing = |from: &Users, these: &Users| -> Vec<String> {
        these.keys().filter(|name| !from.contains_key(*name)).cloned().collect()
    };
    assert_eq!(missing(&explained, &declared), [""; 0], "add these to docs/dependencies.md");
    assert_eq!(missing(&declared, &explained), [""; 0], "remove these from docs/dependencies.md");
    for (name, users) in &declared {
        assert_eq!(&explained[name], users, "docs/dependencies.md: the crates that use `{name}`");
    }
}

/// Returns the crates from which a crate is built with these features, without its tests, as
/// `cargo tree` lists them.
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
