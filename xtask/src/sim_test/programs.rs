//! The test programs that run on the simulator, and the simulator: built, and asked for their tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use super::Simulated;
use super::sanitizer::Sanitizer;
use crate::TaskError;

/// A test program.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) package: &'static str,
    pub(super) path: PathBuf,
    /// A directory with the simulator under a driver's name, for a program that asks the loader.
    pub(super) libraries: Option<PathBuf>,
    /// Its tests that are ignored unless asked for.
    pub(super) tests: Vec<String>,
}

/// How cargo builds.
struct Cargo {
    sanitizer: Option<Sanitizer>,
}

/// What cargo says about a target that it has built.
#[derive(Debug, Deserialize)]
struct Artifact {
    #[serde(default)]
    filenames: Vec<PathBuf>,
    executable: Option<PathBuf>,
    target: Option<Target>,
    profile: Option<Profile>,
}

#[derive(Debug, Deserialize)]
struct Profile {
    /// Whether it was built as a test, and not to be used by one.
    test: bool,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

/// Builds the programs of these crates.
///
/// # Errors
///
/// When something does not build, or a program does not tell its tests.
pub(super) fn build(
    packages: &[Simulated],
    sanitizer: Option<Sanitizer>,
) -> Result<Vec<Program>, TaskError> {
    let mut programs = Vec::new();
    let cargo = Cargo { sanitizer };
    let simulator = simulator(&cargo)?;
    for own in packages {
        let test = ["test", "--no-run", "--tests", "--package", own.package];
        for artifact in cargo.artifacts(&test)? {
            let is_test = artifact.profile.is_some_and(|profile| profile.test);
            let Some(path) = artifact.executable.filter(|_| is_test) else { continue };
            let tests = tests(&path)?;
            if tests.is_empty() {
                continue;
            }
            let libraries = own.asks_the_loader.then(|| under_a_drivers_name(&simulator));
            let libraries = libraries.transpose()?;
            programs.push(Program { package: own.package, path, libraries, tests });
        }
    }
    Ok(programs)
}

/// The simulator's library, built as the tests are.
fn simulator(cargo: &Cargo) -> Result<PathBuf, TaskError> {
    let built = cargo.artifacts(&["build", "--profile", "test", "--package", "cuda-sim"])?;
    let is_it = |artifact: &&Artifact| {
        artifact.target.as_ref().is_some_and(|target| {
            target.name == "cuda_sim" && target.kind.iter().any(|kind| kind == "cdylib")
        })
    };
    let library = built.iter().find(is_it).and_then(|artifact| artifact.filenames.first());
    Ok(library.ok_or("cargo names no file of the simulator")?.clone())
}

/// A directory of its own: where cargo builds, nothing may have that name.
fn under_a_drivers_name(simulator: &Path) -> Result<PathBuf, TaskError> {
    let built = simulator.parent().ok_or("the simulator is in no directory")?;
    let directory = built.join("simulated-driver");
    std::fs::create_dir_all(&directory)?;
    let file = directory.join("libcuda.so");
    if file.exists() {
        std::fs::remove_file(&file)?;
    }
    std::fs::copy(simulator, &file)?;
    Ok(directory)
}

impl Cargo {
    /// What a command of cargo says that it has built.
    fn artifacts(&self, arguments: &[&str]) -> Result<Vec<Artifact>, TaskError> {
        let mut cargo = Command::new("cargo");
        if let Some(sanitizer) = self.sanitizer {
            sanitizer.prepare(&mut cargo)?;
        }
        // The first names the cargo that started us, which may be of another toolchain.
        cargo.env_remove("CARGO").env_remove("CUDARC_CUDA_VERSION");
        cargo.args(arguments).args(["--message-format", "json-render-diagnostics"]);
        let messages = output(&mut cargo)?;
        messages.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
    }
}

fn tests(program: &Path) -> Result<Vec<String>, TaskError> {
    let listed = output(Command::new(program).args(["--list", "--ignored", "--format", "terse"]))?;
    Ok(names(&listed))
}

fn names(listed: &str) -> Vec<String> {
    listed.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
}

fn output(command: &mut Command) -> Result<String, TaskError> {
    let answer = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    if !answer.status.success() {
        return Err(format!("{command:?} ended with {}", answer.status).into());
    }
    Ok(String::from_utf8(answer.stdout)?)
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn a_list_gives_its_tests() {
        let listed = "order::missing_join: test\nspeed: benchmark\nfaults::nth: test\n";
        assert_eq!(names(listed), ["order::missing_join", "faults::nth"]);
    }
}
