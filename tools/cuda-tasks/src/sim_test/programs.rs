//! Builds the simulator and the test programs that run on it, and lists the tests of each program.

use std::path::{Path, PathBuf};

use tasks::TaskError;
use tasks::programs::{self, Artifact};

use super::sanitizer::Sanitizer;

/// The manifest of the simulator's workspace. From this workspace, cargo could only build the
/// simulator as a dependency.
const SIMULATOR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sim/Cargo.toml");

/// A test program.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) package: &'static str,
    pub(super) path: PathBuf,
    /// A directory that contains the simulator under the driver's name, for a program that uses the
    /// loader.
    pub(super) libraries: Option<PathBuf>,
    /// The ignored tests of the program.
    pub(super) tests: Vec<String>,
}

/// Builds the programs of these crates with one command, so common dependencies are built once and
/// with the same features. With `whole_workspace`, all crates in the workspace are built with these
/// features.
///
/// # Errors
///
/// Fails if something does not build, or if a program does not list its tests.
pub(super) fn build(
    packages: &[&'static str],
    sanitizer: Option<Sanitizer>,
    whole_workspace: Option<&[&str]>,
    asks_the_loader: fn(&Artifact) -> bool,
) -> Result<Vec<Program>, TaskError> {
    let features = whole_workspace.unwrap_or_default().join(",");
    let what = match whole_workspace {
        Some(_) => vec!["--workspace", "--features", &features],
        None => packages.iter().flat_map(|own| ["--package", *own]).collect(),
    };
    let test: Vec<&str> = ["test", "--no-run", "--tests"].into_iter().chain(what).collect();
    let artifacts = built(sanitizer, &test)?;
    let simulator = match programs::simulator_of(&artifacts) {
        Some(library) => library,
        None => simulator(sanitizer)?,
    };
    let mut programs = Vec::new();
    for package in packages {
        for artifact in artifacts.iter().filter(|artifact| artifact.is_of(package)) {
            let Some(path) = artifact.executable.clone().filter(|_| artifact.profile.test) else {
                continue;
            };
            let tests = programs::ignored_tests(&path)?;
            if tests.is_empty() {
                continue;
            }
            let libraries = asks_the_loader(artifact).then(|| under_a_drivers_name(&simulator));
            let libraries = libraries.transpose()?;
            programs.push(Program { package, path, libraries, tests });
        }
    }
    Ok(programs)
}

/// Builds the simulator's library in the same way as the tests, if the tests do not depend on it.
fn simulator(sanitizer: Option<Sanitizer>) -> Result<PathBuf, TaskError> {
    let build = ["build", "--profile", "test", "--package", "cuda-sim"];
    let built = built(sanitizer, &[&build[..], &["--manifest-path", SIMULATOR]].concat())?;
    Ok(programs::simulator_of(&built).ok_or("cargo reports no library for the simulator")?)
}

/// Builds the simulator, and returns a directory that contains it under the driver's name.
///
/// # Errors
///
/// Fails if the simulator does not build, or if it cannot be copied.
pub fn simulated_driver() -> Result<PathBuf, TaskError> {
    under_a_drivers_name(&simulator(None)?)
}

/// Uses a separate directory, because the build directory must not contain a library of that name.
fn under_a_drivers_name(simulator: &Path) -> Result<PathBuf, TaskError> {
    let built = simulator.parent().ok_or("the simulator is not in a directory")?;
    let directory = built.join("simulated-driver");
    std::fs::create_dir_all(&directory)?;
    let file = directory.join("libcuda.so");
    if file.exists() {
        std::fs::remove_file(&file)?;
    }
    std::fs::copy(simulator, &file)?;
    Ok(directory)
}

/// Runs a cargo command, with the sanitizer if there is one, and returns the artifacts.
fn built(sanitizer: Option<Sanitizer>, arguments: &[&str]) -> Result<Vec<Artifact>, TaskError> {
    let mut cargo = programs::cargo();
    if let Some(sanitizer) = sanitizer {
        sanitizer.prepare(&mut cargo)?;
    }
    programs::build(cargo.args(arguments))
}
