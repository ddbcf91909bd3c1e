//! Builds the programs of the GPU tests, lists their tests, and copies them after everything has
//! been built.
//!
//! The file that is hashed, listed and packed must be the same file. Cargo may replace a program
//! with a new one under the same name, so a path may later refer to another file. A [`Packed`]
//! program is therefore copied after everything has been built, and from then on only the copy is
//! used.

use std::path::{Path, PathBuf};

use flate2::Compression;
use sha2::{Digest, Sha256};

use super::suites::{Place, TESTS, holds_gpu_tests};
use crate::TaskError;
use crate::test::features::ALL_FEATURES;
use tasks::programs::{self, Artifact, cargo, output};
use tasks::workspace::{self, Workspace};

/// The program that prints the device.
const PROBE: &str = "gpu-probe";

/// How the programs are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Build {
    /// With the profile `gpu`: small, and with the same optimisation as a user's program.
    ForDevices,
    /// In the same way as `cargo xtask test` builds its tests, so its check of archives has nothing
    /// to build.
    AsTests,
}

/// The purpose of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The program prints the device.
    Probe,
    /// The program contains GPU tests.
    Test,
    /// The program measures.
    Bench,
}

/// A program that cargo has built.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) purpose: Purpose,
    /// The directory of the program's crate, relative to the root of the workspace.
    pub(crate) package: PathBuf,
    /// The path to which cargo has written the program.
    pub(crate) built: PathBuf,
    /// The path of the program in the archive.
    pub(crate) path: PathBuf,
    /// The tests of the program that need a device.
    pub(crate) tests: Vec<String>,
}

/// A program with a copy of its bytes, which later builds do not change.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    pub(crate) program: Program,
    pub(crate) bytes: Vec<u8>,
    pub(crate) sha256: String,
}

/// The result of a build.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) programs: Vec<Program>,
    /// The library of the simulated driver, which is next to some of the programs.
    pub(crate) simulator: Option<PathBuf>,
}

/// Returns the workspace and its dependencies, as `cargo metadata` prints them.
///
/// # Errors
///
/// Fails if cargo fails.
pub(super) fn metadata() -> Result<Vec<u8>, TaskError> {
    output(cargo().args(["metadata", "--format-version", "1"]))
}

impl Purpose {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Probe => "probe",
            Self::Test => "test",
            Self::Bench => "bench",
        }
    }
}

impl Build {
    /// Returns cargo's arguments for packages, programs, features and the profile. nextest uses
    /// another name for the profile argument.
    ///
    /// # Errors
    ///
    /// Fails if cargo does not describe the workspace.
    pub(super) fn arguments(
        self,
        packages: &[&str],
        profile_flag: &str,
    ) -> Result<Vec<String>, TaskError> {
        Ok(match self {
            Self::ForDevices => {
                let packages = packages.iter().flat_map(|package| ["--package", package]);
                let tests = TESTS.iter().flat_map(|(name, _)| ["--test", name]);
                let chosen = packages.chain(tests).chain(["--benches", profile_flag, "gpu"]);
                chosen.map(str::to_owned).collect()
            }
            Self::AsTests => {
                let everything = ALL_FEATURES.join(",");
                // All crates are named, because with `--workspace` cargo selects none from another
                // workspace.
                let workspace: Workspace = workspace::describe()?;
                let of_others = packages.iter().copied();
                let of_others = of_others.filter(|name| workspace.version_of(name).is_none());
                let all = workspace.crates().chain(of_others);
                let all = all.flat_map(|package| ["--package", package]);
                let chosen = ["--tests", "--benches", "--features", &everything];
                chosen.into_iter().chain(all).map(str::to_owned).collect()
            }
        })
    }

    /// Returns how strongly an archive is compressed. An archive that is not copied to another
    /// machine does not have to be small.
    pub(super) fn compression(self) -> Compression {
        match self {
            Self::ForDevices => Compression::best(),
            Self::AsTests => Compression::fast(),
        }
    }

    /// Returns the profile's name, as written in a manifest.
    pub(super) fn profile(self) -> &'static str {
        match self {
            Self::ForDevices => "gpu",
            Self::AsTests => "test",
        }
    }
}

impl Built {
    /// Builds the probe and the tests and benches of these crates with a single cargo command,
    /// because a second command with other features would replace them. Keeps the programs that
    /// contain GPU tests.
    ///
    /// # Errors
    ///
    /// Fails if something does not build, or if no probe or no GPU test is found.
    pub(super) fn of(place: &Place, packages: &[&str], build: Build) -> Result<Self, TaskError> {
        let mut test = cargo();
        test.args(["test", "--no-run"]);
        test.args(build.arguments(packages, "--profile")?);
        let artifacts = programs::build(&mut test)?;
        let simulator = programs::simulator_of(&artifacts);
        let mut kept = Vec::new();
        for artifact in artifacts.iter().filter(|one| packages.iter().any(|own| one.is_of(own))) {
            let Some(mut program) = program(artifact, place)? else { continue };
            if program.purpose == Purpose::Test {
                // A program without GPU tests is not needed on a machine with a GPU.
                if !holds_gpu_tests(artifact) {
                    continue;
                }
                program.tests = programs::ignored_tests(&program.built)?;
            }
            kept.push(program);
        }
        if !kept.iter().any(|program| program.purpose == Purpose::Probe) {
            return Err(format!("cargo did not build {PROBE}").into());
        }
        if !kept.iter().any(|program| program.purpose == Purpose::Test) {
            return Err("no GPU test was built".into());
        }
        Ok(Self { programs: kept, simulator })
    }

    /// Returns copies of the programs with their current bytes.
    ///
    /// # Errors
    ///
    /// Fails if a program cannot be read.
    pub(super) fn packed(&self) -> Result<Vec<Packed>, TaskError> {
        self.programs.iter().cloned().map(Packed::of).collect()
    }
}

impl Packed {
    /// Copies the program.
    ///
    /// # Errors
    ///
    /// Fails if the program cannot be read.
    pub(crate) fn of(program: Program) -> Result<Self, TaskError> {
        let bytes = std::fs::read(&program.built)
            .map_err(|error| format!("{}: {error}", program.built.display()))?;
        Ok(Self { sha256: sha256(&bytes), program, bytes })
    }
}

/// Returns the program that belongs to an artifact, if it is to be packed.
fn program(artifact: &Artifact, place: &Place) -> Result<Option<Program>, TaskError> {
    let Some(built) = artifact.executable.clone() else { return Ok(None) };
    let purpose = match artifact.profile.test {
        false if artifact.target.name == PROBE => Purpose::Probe,
        false => return Ok(None),
        true if artifact.target.is("bench") => Purpose::Bench,
        true => Purpose::Test,
    };
    let root = &place.root;
    let package = artifact.manifest_path.parent().unwrap_or(root).strip_prefix(root)?.to_owned();
    let path = Path::new("target").join(built.strip_prefix(&place.target_directory)?);
    Ok(Some(Program { purpose, package, built, path, tests: Vec::new() }))
}

/// Returns the SHA-256 sum in the form that `sha256sum` prints.
pub(crate) fn sha256(bytes: &[u8]) -> String {
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
