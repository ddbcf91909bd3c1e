//! `cargo xtask gpu-test`: builds the tests that need a CUDA device, and runs them on this machine
//! or another.
//!
//! The tests always run through `scripts/gpu-run.sh`, which needs neither cargo nor rustc. The task
//! builds them with the profile `gpu` and packs them; the script then runs the archive, on this
//! machine or another. The exit codes are those of the script. 0 means that all tests ran and
//! passed, 1 that a test failed, and 2 that not every test ran. 3 means that there is no GPU, and 4
//! that something on the machine is too old.

mod archive;
mod elf;
mod manifest;
mod needs;
mod nextest;
mod programs;
mod suites;
mod verify;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use flate2::Compression;
use indicatif::HumanBytes;
use serde_json::Value;

use crate::TaskError;
use archive::Contents;
use programs::Built;
use suites::{PACKAGES, Place};

pub(crate) use manifest::Manifest;
pub(crate) use needs::{Needs, Version};
pub(crate) use nextest::program as nextest_program;
pub(crate) use programs::{Build, Packed, Purpose, sha256};
pub(crate) use suites::holds_gpu_tests;

/// The maximum total size in bytes of the archive, the script and the runner, which are copied to a
/// machine.
const CARRIED_AT_MOST: u64 = 56 << 20;

/// The path of the script, relative to the root of the workspace.
pub(crate) const SCRIPT: &str = "scripts/gpu-run.sh";

/// The arguments of `cargo xtask gpu-test`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only build and pack. The archive is written here, and `scripts/gpu-run.sh` can run it.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["bench", "out", "allow_no_gpu"])]
    archive: Option<PathBuf>,
    /// Copy the script and, if it is installed, cargo-nextest next to the archive.
    #[arg(long, requires = "archive")]
    with_runner: bool,
    /// Also run the benches.
    #[arg(long)]
    bench: bool,
    /// Write the report here.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Succeed on a machine without a GPU, and count every test as skipped.
    #[arg(long)]
    allow_no_gpu: bool,
    /// Only for the tests of this task: use this simulated driver, with its signs removed, as the
    /// driver. The report states this.
    #[arg(long, value_name = "FILE", hide = true, conflicts_with_all = ["archive", "bench"])]
    simulated_driver: Option<PathBuf>,
    /// Only for the tests of this task: build in the same way as the tests are built.
    #[arg(long, hide = true, requires = "simulated_driver")]
    built_as_tests: bool,
}

/// Everything that has been built. Nothing is rebuilt from here on.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) place: Place,
    pub(crate) packed: Vec<Packed>,
    pub(crate) manifest: Manifest,
    /// The path of the simulated driver's library.
    pub(crate) simulator: Option<PathBuf>,
    compression: Compression,
    /// The output of `cargo metadata` for the workspace.
    metadata: Vec<u8>,
    /// nextest's description of the programs, if nextest is installed.
    description: Option<Value>,
}

/// Builds and packs the tests, and runs them unless only an archive is requested.
///
/// # Errors
///
/// Fails if the archive cannot be built or packed, is damaged while it is written, or is too large
/// to be copied. The result of the tests is the exit code.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let build = if arguments.built_as_tests { Build::AsTests } else { Build::ForDevices };
    let ready = Ready::build(build)?;
    let own = ready.place.target_directory.join("xtask/gpu-tests.tar.gz");
    let file = arguments.archive.as_ref().unwrap_or(&own);
    ready.contents(ready.packed.clone()).write(file)?;
    ready.verify(file)?;
    if arguments.archive.is_none() {
        return run_here(&ready.place, file, arguments);
    }
    println!("{}", ready.manifest);
    weigh(&ready.place.root, file)?;
    if arguments.with_runner {
        put_runner_beside(&ready.place.root, file)?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Ready {
    /// Builds everything, and afterwards copies and hashes the programs.
    ///
    /// # Errors
    ///
    /// Fails if something does not build, or if the requirements cannot be read.
    pub(crate) fn build(build: Build) -> Result<Self, TaskError> {
        let metadata = programs::metadata()?;
        let place: Place = serde_json::from_slice(&metadata)?;
        let built = Built::of(&place, PACKAGES, build)?;
        let description = nextest::describe(PACKAGES, build)?;
        let packed = built.packed()?;
        let manifest = Manifest::of(&packed, &metadata, build)?;
        let compression = build.compression();
        let simulator = built.simulator;
        Ok(Self { place, packed, manifest, simulator, compression, metadata, description })
    }

    /// Returns the contents of an archive with these programs.
    pub(crate) fn contents(&self, programs: Vec<Packed>) -> Contents<'_> {
        Contents {
            root: &self.place.root,
            manifest: self.manifest.clone().with_programs(&programs),
            programs,
            nextest: self.description.as_ref().map(|own| (own, &self.metadata[..])),
            compression: self.compression,
        }
    }

    /// Checks an archive after it has been written.
    ///
    /// # Errors
    ///
    /// Fails if the archive is damaged. The error names the damaged file.
    pub(crate) fn verify(&self, file: &Path) -> Result<Manifest, TaskError> {
        // The build directory is used instead of the directory for temporary files, because
        // programs can be started in it.
        let scratch = self.place.target_directory.join("xtask");
        std::fs::create_dir_all(&scratch)?;
        verify::verify(file, tempfile::tempdir_in(scratch)?.path())
    }
}

fn run_here(place: &Place, archive: &Path, arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let mut command = Command::new("sh");
    command.arg(place.root.join(SCRIPT)).arg(archive);
    // Cargo adds its own directories to the variable, and no driver must be found in them.
    if let Some(libraries) = std::env::var_os("LD_LIBRARY_PATH") {
        let foreign = |path: &PathBuf| !path.starts_with(&place.target_directory);
        let kept = std::env::join_paths(std::env::split_paths(&libraries).filter(foreign))?;
        command.env("LD_LIBRARY_PATH", kept);
    }
    if arguments.bench {
        command.arg("--bench");
    }
    if arguments.allow_no_gpu {
        command.arg("--allow-no-gpu");
    }
    if let Some(driver) = &arguments.simulated_driver {
        command.arg("--simulated-driver").arg(driver);
    }
    let out = arguments.out.clone().unwrap_or_else(|| archive.with_file_name("gpu-test-report"));
    let status = command.arg("--out").arg(out).status()?;
    // If a signal ended the process, there is no code. This is a failure like any other.
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(1)))
}

/// Prints the sizes of the files that are copied, and refuses files that are too large.
fn weigh(root: &Path, archive: &Path) -> Result<(), TaskError> {
    let mut parts = vec![("archive", archive.to_owned()), ("script", root.join(SCRIPT))];
    parts.extend(nextest::program().map(|program| ("cargo-nextest", program)));
    let mut together = 0;
    for (name, path) in &parts {
        let bytes = std::fs::metadata(path)?.len();
        println!("{:>12}  {name}", HumanBytes(bytes).to_string());
        together += bytes;
    }
    println!(
        "{:>12}  together, of {}",
        HumanBytes(together).to_string(),
        HumanBytes(CARRIED_AT_MOST)
    );
    limit(together)
}

fn limit(together: u64) -> Result<(), TaskError> {
    if together <= CARRIED_AT_MOST {
        return Ok(());
    }
    let (have, most) = (HumanBytes(together), HumanBytes(CARRIED_AT_MOST));
    Err(format!("the archive and its runner have {have}, but the limit is {most}").into())
}

fn put_runner_beside(root: &Path, archive: &Path) -> Result<(), TaskError> {
    let beside = |name: &str| archive.with_file_name(name);
    std::fs::copy(root.join(SCRIPT), beside("gpu-run.sh"))?;
    match nextest::program() {
        Some(program) => {
            std::fs::copy(program, beside("cargo-nextest"))?;
        }
        None => println!("cargo-nextest is not installed: the script runs the tests itself"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{CARRIED_AT_MOST, limit};

    #[test]
    fn more_than_can_be_carried_is_refused() {
        assert!(limit(CARRIED_AT_MOST).is_ok());
        let refusal = limit(CARRIED_AT_MOST + (1 << 20)).unwrap_err().to_string();
        assert!(refusal.contains("57.00 MiB") && refusal.contains("56.00 MiB"), "{refusal}");
    }
}
