//! `cargo xtask packages`: what would be published, and whether a stranger can build with it.
//!
//! Cargo packages every crate that is published, in the order of their dependencies; with `--full` it also builds each
//! as a registry would. The packages are unpacked in an empty directory, outside of this workspace, and a user's crate
//! is built there that depends on them alone; and another one, whose tests run on the simulated driver. Each assertion is one line, and the last line counts them. It needs the
//! crates of the registry.

mod contents;
mod simulated;
mod user;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use flate2::read::GzDecoder;

use crate::TaskError;
use crate::test::features::{LIBRARIES, SIMULATOR};
use tasks::checks::Checks;
use tasks::programs::cargo;
use tasks::workspace::{self, Workspace};

/// What `cargo xtask packages` accepts.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Build every package by itself, as a registry would.
    #[arg(long)]
    full: bool,
}

/// Packages, by the names of their crates: where each was unpacked.
type Unpacked = BTreeMap<&'static str, PathBuf>;

/// All crates that are published.
fn published() -> impl Iterator<Item = &'static str> {
    LIBRARIES.iter().chain(SIMULATOR).copied()
}

/// Packages everything and tries it.
///
/// # Errors
///
/// When a file cannot be written or unpacked. An assertion that does not hold is no such error: the exit code tells it.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let workspace: Workspace = workspace::describe()?;
    let mut checks = Checks::default();
    let packaged = publish_dry_run(arguments.full, &workspace)?;
    checks.that("cargo publish --dry-run accepts all crates, in order", packaged);
    package(&workspace)?;
    let directory = tempfile::tempdir()?;
    let unpacked = unpack(&workspace, directory.path())?;
    for (name, package) in &unpacked {
        contents::check(name, package, &mut checks)?;
    }
    user::check(&workspace, directory.path(), &unpacked, arguments.full, &mut checks)?;
    if cfg!(all(target_os = "linux", target_env = "gnu")) {
        simulated::check(&workspace, directory.path(), &unpacked, &mut checks)?;
    }
    println!("\n{checks}");
    Ok(checks.exit_code())
}

/// Packages the crates, and asks everything of a publication but the upload.
fn publish_dry_run(full: bool, workspace: &Workspace) -> Result<Result<(), String>, TaskError> {
    let mut publish = cargo();
    // What is not committed yet is packaged, too: this is a check of the tree as it stands.
    publish.args(["publish", "--workspace", "--dry-run", "--allow-dirty", "--quiet"]);
    if !full {
        publish.arg("--no-verify");
    }
    let status = publish.current_dir(&workspace.root).status()?;
    Ok(if status.success() { Ok(()) } else { Err(format!("it ended with {status}")) })
}

/// Packages the crates where they can be found: a dry run leaves nothing behind that is meant to be.
fn package(workspace: &Workspace) -> Result<(), TaskError> {
    let mut package = cargo();
    package.args(["package", "--allow-dirty", "--quiet", "--no-verify"]);
    package.args(published().flat_map(|name| ["--package", name]));
    let status = package.current_dir(&workspace.root).status()?;
    if status.success() { Ok(()) } else { Err(format!("cargo package ended with {status}").into()) }
}

/// Unpacks what cargo has packaged.
fn unpack(workspace: &Workspace, directory: &Path) -> Result<Unpacked, TaskError> {
    let mut unpacked = Unpacked::new();
    for name in published() {
        let version = workspace.version_of(name).ok_or_else(|| format!("no crate {name}"))?;
        let package = format!("{name}-{version}");
        let file = workspace.target_directory.join("package").join(format!("{package}.crate"));
        let bytes = File::open(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        tar::Archive::new(GzDecoder::new(bytes)).unpack(directory)?;
        unpacked.insert(name, fs::canonicalize(directory.join(package))?);
    }
    Ok(unpacked)
}
