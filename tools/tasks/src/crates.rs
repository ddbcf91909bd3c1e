//! Determines the crates that contain changed files, and the crates that depend on them.
//!
//! Crates are identified by their directories, because two workspaces in the repository may contain
//! crates of the same name. Path dependencies of every kind and feature count, because each affects
//! some build of the crate's tests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::TaskError;
use crate::changes::{Changes, is_document};
use crate::workspace;

/// Files at the root of a workspace that affect how every crate in the workspace is built or
/// checked.
const OF_ALL_CRATES: &[&str] =
    &["Cargo.toml", "Cargo.lock", ".cargo/config.toml", "clippy.toml", "rustfmt.toml"];

/// A crate, with what quick checks need to know about it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Crate {
    /// The name of the crate.
    pub name: String,
    /// The root directory of the crate's workspace.
    pub workspace: PathBuf,
    /// `true` if the crate has a library, which may be dynamic.
    pub has_library: bool,
    /// `true` if the crate has a program.
    pub has_program: bool,
    /// The integration tests of the crate.
    pub suites: Vec<Suite>,
    /// The features of the crate, each with the features that it enables.
    pub(crate) features: BTreeMap<String, Vec<String>>,
    /// The directories of the crates on which this crate depends by path.
    pub(crate) dependencies: BTreeSet<PathBuf>,
}

/// An integration test of a crate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suite {
    /// The name of the integration test.
    pub name: String,
    /// The features of the crate that the test requires.
    pub required_features: Vec<String>,
}

/// All crates in a workspace, and the crates in other workspaces on which they depend, by
/// directory.
#[derive(Clone, Debug, Default)]
pub struct Crates(BTreeMap<PathBuf, Crate>);

/// The crates that a change affects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// The directories of the crates that contain changed files.
    pub changed: BTreeSet<PathBuf>,
    /// The directories of the crates that depend on those crates, directly or indirectly.
    pub dependents: BTreeSet<PathBuf>,
    /// Changed files that belong to no crate, except documents.
    pub elsewhere: BTreeSet<String>,
}

#[derive(Debug, Deserialize)]
struct Manifests {
    workspace_root: PathBuf,
    packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    manifest_path: PathBuf,
    targets: Vec<Target>,
    dependencies: Vec<Dependency>,
    #[serde(default)]
    features: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
    test: bool,
    #[serde(default, rename = "required-features")]
    required_features: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    path: Option<PathBuf>,
}

impl Crates {
    /// Reads the workspace in a directory, and every workspace on which its crates depend by path.
    ///
    /// # Errors
    ///
    /// Fails if cargo cannot describe one of the workspaces.
    pub fn of(directory: &Path) -> Result<Self, TaskError> {
        let mut crates = Self::default();
        crates.add(workspace::describe_at(directory)?);
        while let Some(outside) = crates.unread() {
            crates.add(workspace::describe_at(&outside)?);
            if crates.unread().as_ref() == Some(&outside) {
                return Err(format!("{} is not a crate of its workspace", outside.display()).into());
            }
        }
        Ok(crates)
    }

    fn add(&mut self, manifests: Manifests) {
        let Manifests { workspace_root, packages } = manifests;
        for package in packages {
            let Some(directory) = package.manifest_path.parent() else { continue };
            let read = Crate::read(&package, &workspace_root);
            self.0.insert(directory.to_owned(), read);
        }
    }

    /// Returns a dependency whose workspace has not been read yet.
    fn unread(&self) -> Option<PathBuf> {
        let mut dependencies = self.0.values().flat_map(|one| &one.dependencies);
        dependencies.find(|directory| !self.0.contains_key(*directory)).cloned()
    }

    /// Returns the crate in a directory.
    #[must_use]
    pub fn at(&self, directory: &Path) -> Option<&Crate> {
        self.0.get(directory)
    }

    /// Returns all crates.
    pub fn iter(&self) -> impl Iterator<Item = &Crate> {
        self.0.values()
    }

    /// Returns the given crates that belong to a workspace.
    #[must_use]
    pub fn of_workspace<'c>(
        &'c self,
        root: &Path,
        directories: &BTreeSet<PathBuf>,
    ) -> Vec<&'c Crate> {
        let crates = directories.iter().filter_map(|directory| self.at(directory));
        crates.filter(|one| one.workspace == root).collect()
    }

    /// Returns the crates that a change affects.
    #[must_use]
    pub fn touched(&self, changes: &Changes) -> Touched {
        let mut touched = Touched::default();
        for file in changes.files.iter().filter(|file| !is_document(file)) {
            let path = changes.root.join(file);
            let owners = self.owners(&path);
            if owners.is_empty() {
                touched.elsewhere.insert(file.clone());
            }
            touched.changed.extend(owners);
        }
        touched.dependents = self.dependents(&touched.changed);
        touched
    }

    /// Returns the crate that contains a file: the innermost crate around it. For a file that
    /// affects all crates, returns all crates in its workspace.
    fn owners(&self, file: &Path) -> BTreeSet<PathBuf> {
        if let Some(innermost) = file.ancestors().skip(1).find(|one| self.0.contains_key(*one)) {
            return BTreeSet::from([innermost.to_owned()]);
        }
        let is_for =
            |one: &Crate| OF_ALL_CRATES.iter().any(|name| one.workspace.join(name) == file);
        let all = self.0.iter().filter(|(_, one)| is_for(one));
        all.map(|(directory, _)| directory.clone()).collect()
    }

    /// Returns the crates that depend on the given ones, directly or indirectly, without the given
    /// ones.
    fn dependents(&self, changed: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
        let mut reached = changed.clone();
        loop {
            let new = |one: &Crate| !one.dependencies.is_disjoint(&reached);
            let new =
                self.0.iter().filter(|(directory, one)| !reached.contains(*directory) && new(one));
            let new: Vec<PathBuf> = new.map(|(directory, _)| directory.clone()).collect();
            if new.is_empty() {
                return reached.difference(changed).cloned().collect();
            }
            reached.extend(new);
        }
    }
}

impl Crate {
    /// Returns `true` if an integration test is built with the default features and `chosen`. Each
    /// feature in `chosen` is written as `crate/feature`.
    #[must_use]
    pub fn builds(&self, suite: &Suite, chosen: &[&str]) -> bool {
        let own = chosen.iter().filter_map(|feature| feature.split_once('/'));
        let own = own.filter(|(package, _)| *package == self.name).map(|(_, feature)| feature);
        let on = self.turned_on(own);
        suite.required_features.iter().all(|feature| on.contains(feature.as_str()))
    }

    /// Returns the default features, the chosen features, and all features that they enable.
    fn turned_on<'c>(&'c self, chosen: impl Iterator<Item = &'c str>) -> BTreeSet<&'c str> {
        let mut waiting: Vec<&str> = chosen.chain(["default"]).collect();
        let mut on = BTreeSet::new();
        while let Some(feature) = waiting.pop() {
            if on.insert(feature) {
                waiting
                    .extend(self.features.get(feature).into_iter().flatten().map(String::as_str));
            }
        }
        on
    }

    fn read(package: &Package, workspace: &Path) -> Self {
        let is = |target: &Target, kinds: &[&str]| {
            target.kind.iter().any(|kind| kinds.contains(&kind.as_str()))
        };
        let has =
            |kinds: &[&str]| package.targets.iter().any(|target| target.test && is(target, kinds));
        let suites = package.targets.iter().filter(|target| is(target, &["test"]));
        let suites = suites.map(|target| Suite {
            name: target.name.clone(),
            required_features: target.required_features.clone(),
        });
        Self {
            name: package.name.clone(),
            workspace: workspace.to_owned(),
            has_library: has(&["lib", "rlib", "cdylib", "staticlib", "dylib", "proc-macro"]),
            has_program: has(&["bin"]),
            suites: suites.collect(),
            features: package.features.clone(),
            dependencies: package.dependencies.iter().filter_map(|one| one.path.clone()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::{Crates, Touched};
    use crate::changes::Changes;

    /// Creates crates with the dependencies `core` <- `cuda` <- `graph`. `core` is tested with
    /// `conformance`, which needs `core`. `page` is inside `graph`, and `plan` <- `app` belong to
    /// another workspace.
    fn crates() -> Crates {
        let package = |directory: &str, dependencies: &[&str]| {
            let paths = dependencies.iter().map(|name| format!("{{\"path\": \"/r/{name}\"}}"));
            let paths: Vec<String> = paths.chain(["{}".to_owned()]).collect();
            let name = directory.rsplit('/').next().unwrap();
            format!(
                "{{\"name\": \"{name}\", \"manifest_path\": \"/r/{directory}/Cargo.toml\", \"targets\": [
                    {{\"name\": \"{name}\", \"kind\": [\"lib\"], \"test\": true}},
                    {{\"name\": \"suite\", \"kind\": [\"test\"], \"test\": true}},
                    {{\"name\": \"of_devices\", \"kind\": [\"test\"], \"test\": true, \"required-features\": [\"d\"]}}
                ], \"dependencies\": [{}]}}",
                paths.join(",")
            )
        };
        let workspace = |root: &str, packages: &[String]| {
            format!("{{\"workspace_root\": \"{root}\", \"packages\": [{}]}}", packages.join(","))
        };
        let pools = [
            package("core", &["conformance"]),
            package("conformance", &["core"]),
            package("cuda", &["core"]),
            package("graph", &["cuda"]),
            package("graph/page", &["graph"]),
            package("plan", &[]),
        ];
        let mut crates = Crates::default();
        crates.add(serde_json::from_str(&workspace("/r", &pools)).unwrap());
        let planner = [package("planner/app", &["plan"])];
        crates.add(serde_json::from_str(&workspace("/r/planner", &planner)).unwrap());
        crates
    }

    fn touched(files: &[&str]) -> Touched {
        let files = files.iter().copied().map(str::to_owned).collect();
        crates().touched(&Changes {
            root: PathBuf::from("/r"),
            revision: "main".to_owned(),
            files,
            deleted: BTreeSet::new(),
        })
    }

    fn named(directories: &BTreeSet<PathBuf>) -> Vec<&str> {
        directories.iter().map(|one| one.strip_prefix("/r").unwrap().to_str().unwrap()).collect()
    }

    #[test]
    fn dependents_are_found_through_other_crates() {
        let touched = touched(&["core/src/lib.rs"]);
        assert_eq!(named(&touched.changed), ["core"]);
        assert_eq!(named(&touched.dependents), ["conformance", "cuda", "graph", "graph/page"]);
        assert!(touched.elsewhere.is_empty());
    }

    #[test]
    fn a_file_belongs_to_the_innermost_crate() {
        assert_eq!(named(&touched(&["graph/page/a.rs"]).changed), ["graph/page"]);
        assert_eq!(named(&touched(&["graph/pages/a.rs"]).changed), ["graph"]);
    }

    #[test]
    fn both_paths_of_a_file_that_moved_between_crates_count() {
        let touched = touched(&["cuda/src/moved.rs", "plan/src/moved.rs"]);
        assert_eq!(named(&touched.changed), ["cuda", "plan"]);
        assert_eq!(named(&touched.dependents), ["graph", "graph/page", "planner/app"]);
    }

    #[test]
    fn documents_are_of_no_crate_and_other_files_are_reported() {
        let touched = touched(&["README.md", "core/README.md", "docs/a.svg"]);
        assert!(touched.changed.is_empty() && touched.dependents.is_empty());
        assert_eq!(Vec::from_iter(touched.elsewhere), ["docs/a.svg"]);
    }

    #[test]
    fn what_all_crates_are_built_with_changes_those_of_its_workspace() {
        let touched = touched(&["planner/Cargo.lock"]);
        assert_eq!(named(&touched.changed), ["planner/app"]);
        let touched = self::touched(&["Cargo.toml"]);
        assert_eq!(touched.changed.len(), 6);
        assert_eq!(named(&touched.dependents), ["planner/app"]);
    }

    #[test]
    fn crates_of_one_workspace_are_distinguished_from_those_of_another() {
        let crates = crates();
        let both = touched(&["plan/src/lib.rs"]);
        let both: BTreeSet<_> = both.changed.union(&both.dependents).cloned().collect();
        let names = |root| -> Vec<&str> {
            crates
                .of_workspace(Path::new(root), &both)
                .iter()
                .map(|one| one.name.as_str())
                .collect()
        };
        assert_eq!((names("/r"), names("/r/planner")), (vec!["plan"], vec!["app"]));
        let plan = crates.at(Path::new("/r/plan")).unwrap();
        assert!(plan.has_library && !plan.has_program);
        let suites: Vec<&str> = plan.suites.iter().map(|suite| suite.name.as_str()).collect();
        assert_eq!(suites, ["suite", "of_devices"]);
        assert!(plan.builds(&plan.suites[0], &[]) && !plan.builds(&plan.suites[1], &["core/d"]));
        assert!(plan.builds(&plan.suites[1], &["plan/d"]));
    }

    #[test]
    fn dependencies_in_another_workspace_are_read_too() {
        let crates = Crates::of(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert!(crates.unread().is_none());
        assert!(crates.at(Path::new(env!("CARGO_MANIFEST_DIR"))).is_some());
    }
}
