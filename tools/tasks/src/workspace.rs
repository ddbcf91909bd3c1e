//! A workspace as described by `cargo metadata`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::TaskError;

/// A workspace: its directory, its build directory, and its crates.
#[derive(Debug, Deserialize)]
pub struct Workspace {
    /// The directory that contains the root manifest.
    #[serde(rename = "workspace_root")]
    pub root: PathBuf,
    /// The directory in which cargo builds, according to the environment and the configuration.
    pub target_directory: PathBuf,
    packages: Vec<Package>,
}

/// A crate in the workspace.
#[derive(Debug, Deserialize)]
struct Package {
    name: String,
    version: String,
    /// The oldest compiler version with which the crate builds, according to its manifest.
    rust_version: Option<String>,
    targets: Vec<Target>,
}

/// A library, program, test or example of a crate.
#[derive(Debug, Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
    #[serde(default)]
    crate_types: Vec<String>,
    #[serde(default, rename = "required-features")]
    required_features: Vec<String>,
}

/// An example of a crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Example<'w> {
    /// The name of the example's crate.
    pub package: &'w str,
    /// The name of the example.
    pub name: &'w str,
    /// The features of the crate that the example requires.
    pub required_features: &'w [String],
}

impl Workspace {
    /// Returns the names of the crates, in the order of the manifests.
    pub fn crates(&self) -> impl Iterator<Item = &str> {
        self.packages.iter().map(|package| package.name.as_str())
    }

    /// Returns the version of a crate.
    #[must_use]
    pub fn version_of(&self, name: &str) -> Option<&str> {
        let package = self.packages.iter().find(|package| package.name == name)?;
        Some(&package.version)
    }

    /// Returns the oldest compiler version with which a crate builds, according to its manifest.
    #[must_use]
    pub fn oldest_rust_of(&self, name: &str) -> Option<&str> {
        self.packages.iter().find(|package| package.name == name)?.rust_version.as_deref()
    }

    /// Returns every example that is a program, in the order of the manifests. An example that is a
    /// library, such as a module for a browser, cannot be run.
    pub fn examples(&self) -> impl Iterator<Item = Example<'_>> {
        let is_example = |target: &&Target| {
            let is_library = target.crate_types.iter().any(|crate_type| crate_type != "bin");
            target.kind.iter().any(|kind| kind == "example") && !is_library
        };
        self.packages.iter().flat_map(move |package| {
            let examples = package.targets.iter().filter(is_example);
            examples.map(|target| Example {
                package: &package.name,
                name: &target.name,
                required_features: &target.required_features,
            })
        })
    }
}

/// Describes the workspace of the current directory.
///
/// # Errors
///
/// Fails in the same cases as [`describe_at`].
pub fn describe<T: DeserializeOwned>() -> Result<T, TaskError> {
    describe_at(Path::new("."))
}

/// Describes the workspace in a directory, using `cargo metadata`. The caller selects the fields
/// with the type `T`.
///
/// # Errors
///
/// Fails if cargo cannot be run, if it fails, or if its output lacks a field.
pub fn describe_at<T: DeserializeOwned>(directory: &Path) -> Result<T, TaskError> {
    let answer = Command::new("cargo")
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(directory)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    if !answer.status.success() {
        return Err(format!("cargo metadata ended with {}", answer.status).into());
    }
    Ok(serde_json::from_slice(&answer.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::{Example, Workspace};

    #[test]
    fn examples_are_found_with_their_crates() {
        let answer = r#"{
            "workspace_root": "/w", "target_directory": "/w/target",
            "packages": [
                { "name": "a", "version": "1.0.0", "targets": [{ "name": "a", "kind": ["lib"] }] },
                { "name": "b", "version": "2.0.0", "targets": [
                    { "name": "first", "kind": ["example"], "crate_types": ["bin"] },
                    { "name": "library", "kind": ["example"], "crate_types": ["cdylib"] },
                    { "name": "suite", "kind": ["test"] },
                    { "name": "second", "kind": ["example"], "required-features": ["device"] }
                ] }
            ]
        }"#;
        let workspace: Workspace = serde_json::from_str(answer).unwrap();
        let device = ["device".to_owned()];
        let example = |name, required_features| Example { package: "b", name, required_features };
        let expected = [example("first", &[]), example("second", &device)];
        assert_eq!(workspace.examples().collect::<Vec<_>>(), expected);
        assert_eq!(workspace.crates().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((workspace.version_of("b"), workspace.version_of("c")), (Some("2.0.0"), None));
    }
}
