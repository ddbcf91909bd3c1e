//! The programs of the GPU tests: built, and asked for their tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::TaskError;

/// The profile that they are built in.
const PROFILE: &str = "gpu";

/// What a program is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Says which device there is.
    Probe,
    /// Holds GPU tests.
    Test,
    /// Measures.
    Bench,
}

/// One program.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) purpose: Purpose,
    /// The directory of its crate, from the root of the workspace.
    pub(super) package: PathBuf,
    /// Where it was built.
    pub(super) built: PathBuf,
    /// Its place in the archive.
    pub(super) path: PathBuf,
    pub(super) sha256: String,
    /// How many tests of it need a device.
    pub(super) gpu_tests: usize,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Programs(pub(super) Vec<Program>);

/// What cargo says about a target that it has built.
#[derive(Debug, Deserialize)]
struct Artifact {
    reason: String,
    manifest_path: Option<PathBuf>,
    executable: Option<PathBuf>,
    target: Option<Target>,
    profile: Option<Profile>,
}

#[derive(Debug, Deserialize)]
struct Profile {
    /// Whether it was built as a test or bench, and not to be used by one.
    test: bool,
}

#[derive(Debug, Deserialize)]
struct Target {
    kind: Vec<String>,
}

/// The workspace and its dependencies, as `cargo metadata` prints them.
///
/// # Errors
///
/// When cargo refuses.
pub(super) fn metadata() -> Result<Vec<u8>, TaskError> {
    output(cargo().args(["metadata", "--format-version", "1"]))
}

impl Purpose {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Probe => "probe",
            Self::Test => "test",
            Self::Bench => "bench",
        }
    }
}

impl Programs {
    /// Builds the probe, and the tests and benches of these crates; keeps those with GPU tests.
    ///
    /// # Errors
    ///
    /// When something does not build, or no GPU test is found.
    pub(super) fn build(root: &Path, packages: &[&str]) -> Result<Self, TaskError> {
        let probe = ["build", "--package", "driver-conformance", "--bin", "gpu-probe"];
        let mut tests = vec!["test", "--no-run", "--tests", "--benches"];
        tests.extend(packages.iter().flat_map(|package| ["--package", package]));

        let mut programs = built(root, &probe)?;
        programs.retain(|program| program.purpose == Purpose::Probe);
        for mut program in built(root, &tests)? {
            if program.purpose == Purpose::Test {
                program.gpu_tests = gpu_tests(&program.built)?;
            }
            // A unit-test program without GPU tests has nothing to do on a GPU machine.
            let measures = program.purpose == Purpose::Bench;
            if measures || program.gpu_tests > 0 {
                programs.push(program);
            }
        }
        let programs = Self(programs);
        if programs.gpu_tests() == 0 {
            return Err("no GPU test was built".into());
        }
        Ok(programs)
    }

    /// How many tests need a device.
    pub(super) fn gpu_tests(&self) -> usize {
        self.0.iter().map(|program| program.gpu_tests).sum()
    }
}

/// Runs cargo and takes the programs that it has built.
fn built(root: &Path, arguments: &[&str]) -> Result<Vec<Program>, TaskError> {
    let format = ["--profile", PROFILE, "--message-format", "json-render-diagnostics"];
    let messages = output(cargo().args(arguments).args(format))?;
    let mut programs = Vec::new();
    for line in String::from_utf8(messages)?.lines() {
        let artifact: Artifact = serde_json::from_str(line)?;
        programs.extend(program(artifact, root)?);
    }
    Ok(programs)
}

/// The program of an artifact, where it has one.
fn program(artifact: Artifact, root: &Path) -> Result<Option<Program>, TaskError> {
    let Artifact { reason, manifest_path, executable, target, profile } = artifact;
    let (Some(built), Some(target), Some(profile)) = (executable, target, profile) else {
        return Ok(None);
    };
    if reason != "compiler-artifact" {
        return Ok(None);
    }
    let is_bench = target.kind.iter().any(|kind| kind == "bench");
    let manifest = manifest_path.ok_or("cargo names no manifest of what it has built")?;
    let package = manifest.parent().unwrap_or(root).strip_prefix(root)?.to_owned();
    let name = built.file_name().ok_or("a program without a name")?;
    Ok(Some(Program {
        purpose: match profile.test {
            false => Purpose::Probe,
            true if is_bench => Purpose::Bench,
            true => Purpose::Test,
        },
        package,
        path: Path::new("target").join(PROFILE).join("deps").join(name),
        sha256: sha256(&std::fs::read(&built)?),
        gpu_tests: 0,
        built,
    }))
}

/// The tests of a program that are ignored unless asked for.
fn gpu_tests(program: &Path) -> Result<usize, TaskError> {
    let list = ["--list", "--ignored", "--format", "terse"];
    let names = String::from_utf8(output(Command::new(program).args(list))?)?;
    Ok(names.lines().filter(|line| line.ends_with(": test")).count())
}

/// Cargo, without the variable that overrides the CUDA version of the manifests.
pub(super) fn cargo() -> Command {
    let mut cargo = Command::new("cargo");
    cargo.env_remove("CUDARC_CUDA_VERSION");
    cargo
}

/// What a command prints, if it ends well.
pub(super) fn output(command: &mut Command) -> Result<Vec<u8>, TaskError> {
    let answer = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
    if !answer.status.success() {
        return Err(format!("{command:?} ended with {}", answer.status).into());
    }
    Ok(answer.stdout)
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::sha256;

    #[test]
    fn the_sum_is_what_sha256sum_prints() {
        let sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), sum);
    }
}
