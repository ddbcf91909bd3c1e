//! The programs of the GPU tests: built, and asked for their tests.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::TaskError;
use crate::programs::{self, Artifact, cargo, output};

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
                program.gpu_tests = programs::ignored_tests(&program.built)?.len();
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
    let artifacts = programs::build(cargo().args(arguments).args(["--profile", PROFILE]))?;
    let programs = artifacts.into_iter().filter_map(|artifact| program(artifact, root).transpose());
    programs.collect()
}

/// The program of an artifact, where it has one.
fn program(artifact: Artifact, root: &Path) -> Result<Option<Program>, TaskError> {
    let Some(built) = artifact.executable else { return Ok(None) };
    let package = artifact.manifest_path.parent().unwrap_or(root).strip_prefix(root)?.to_owned();
    let name = built.file_name().ok_or("a program without a name")?;
    Ok(Some(Program {
        purpose: match artifact.profile.test {
            false => Purpose::Probe,
            true if artifact.target.is("bench") => Purpose::Bench,
            true => Purpose::Test,
        },
        package,
        path: Path::new("target").join(PROFILE).join("deps").join(name),
        sha256: sha256(&std::fs::read(&built)?),
        gpu_tests: 0,
        built,
    }))
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
