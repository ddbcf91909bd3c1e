//! `cargo xtask packages`: creates the packages that would be published, and checks that a user can
//! build with them.
//!
//! Cargo packages every published crate in dependency order. With `--full`, it also builds each
//! package like a registry would. The packages are unpacked in an empty directory outside this
//! workspace. The task then builds a user's crate there that depends only on the packages, and
//! another crate whose tests run on the simulated driver. The crates in the planner's and
//! simulator's workspaces are also packaged. With `--full`, the planner's command is installed and
//! run. Each assertion prints one line, and the last line counts them. The task needs the crates
//! from the registry.

mod contents;
mod simulated;
mod unpacked;
mod user;

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use unpacked::{Unpacked, unpack};

use crate::TaskError;
use crate::test::features::{LIBRARIES, PLANNER, SIMULATOR};
use tasks::checks::{Checks, Outcome, says};
use tasks::programs::{cargo, output};
use tasks::workspace::{self, Workspace};

/// The arguments of `cargo xtask packages`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Build each package by itself, like a registry would.
    #[arg(long)]
    full: bool,
}

/// The directory of the planner's workspace.
const PLANNER_DIRECTORY: &str = "planner";
/// The directory of the simulator's workspace.
const SIMULATOR_DIRECTORY: &str = "sim";

/// Packages all crates and tests the packages.
///
/// # Errors
///
/// Fails if a file cannot be written or unpacked. A failed assertion is not returned as an error:
/// it sets the exit code.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let workspace: Workspace = workspace::describe()?;
    let mut checks = Checks::default();
    let simulator: Workspace = workspace::describe_at(&workspace.root.join(SIMULATOR_DIRECTORY))?;
    let directory = tempfile::tempdir()?;
    let mut unpacked = Unpacked::new();
    for (name, workspace, crates) in
        [("this workspace", &workspace, LIBRARIES), (SIMULATOR_DIRECTORY, &simulator, SIMULATOR)]
    {
        let packaged = publish_dry_run(arguments.full, workspace)?;
        let name = format!("cargo publish --dry-run accepts all crates of {name} in order");
        checks.that(&name, packaged);
        package(workspace, crates, &[])?;
        unpacked.extend(unpack(workspace, crates, directory.path())?);
    }
    let planner: Workspace = workspace::describe_at(&workspace.root.join(PLANNER_DIRECTORY))?;
    package_planner(&planner, &unpacked)?;
    let of_planner = unpack(&planner, PLANNER, directory.path())?;
    for (name, package) in unpacked.iter().chain(&of_planner) {
        contents::check(name, package, &mut checks)?;
    }
    if arguments.full {
        let installed = install_command(&planner, directory.path(), &unpacked, &of_planner)?;
        checks.that("the pool-plan command installs from the packages and runs", installed);
    }
    user::check(&workspace, directory.path(), &unpacked, arguments.full, &mut checks)?;
    if cfg!(all(target_os = "linux", target_env = "gnu")) {
        simulated::check(&workspace, directory.path(), &unpacked, &mut checks)?;
    }
    println!("\n{checks}");
    Ok(checks.exit_code())
}

/// Packages the crates with every check of a publication, but without the upload.
fn publish_dry_run(full: bool, workspace: &Workspace) -> Result<Result<(), String>, TaskError> {
    let mut publish = cargo();
    // Uncommitted files are also packaged, because this checks the current tree.
    publish.args(["publish", "--workspace", "--dry-run", "--allow-dirty", "--quiet"]);
    if !full {
        publish.arg("--no-verify");
    }
    let status = publish.current_dir(&workspace.root).status()?;
    Ok(if status.success() { Ok(()) } else { Err(format!("it ended with {status}")) })
}

/// Packages crates of a workspace and keeps the packages. A dry run would delete them.
fn package(workspace: &Workspace, names: &[&str], settings: &[&str]) -> Result<(), TaskError> {
    let mut package = cargo();
    package.args(["package", "--allow-dirty", "--quiet", "--no-verify"]);
    package.args(names.iter().flat_map(|name| ["--package", name]));
    package.args(settings.iter().flat_map(|setting| ["--config", setting]));
    let status = package.current_dir(&workspace.root).status()?;
    if status.success() { Ok(()) } else { Err(format!("cargo package ended with {status}").into()) }
}

/// Packages the planner's crates. The solver that they depend on belongs to this workspace and is
/// not in a registry yet.
fn package_planner(planner: &Workspace, unpacked: &Unpacked) -> Result<(), TaskError> {
    // Cargo records the patch in the workspace's lock file, where nothing else needs it.
    let lock = planner.root.join("Cargo.lock");
    let before = fs::read(&lock)?;
    let packaged = package(planner, PLANNER, &[&patch(unpacked, "pool-plan")?]);
    fs::write(lock, before)?;
    packaged
}

/// Returns the cargo setting that replaces a registry crate with a package.
fn patch(unpacked: &Unpacked, name: &str) -> Result<String, TaskError> {
    let path = unpacked.get(name).ok_or_else(|| format!("there is no package of {name}"))?;
    Ok(format!("patch.crates-io.{name}.path={path:?}"))
}

/// Installs the planner's command from the packages and runs it.
fn install_command(
    planner: &Workspace,
    directory: &Path,
    unpacked: &Unpacked,
    of_planner: &Unpacked,
) -> Result<Outcome, TaskError> {
    let package = of_planner.get("pool-plan-cli").ok_or("no package of pool-plan-cli")?;
    let installed = directory.join("installed");
    let mut install = cargo();
    install.args(["install", "--quiet", "--path"]).arg(package).arg("--root").arg(&installed);
    for setting in [patch(unpacked, "pool-plan")?, patch(of_planner, "pool-replay")?] {
        install.args(["--config", &setting]);
    }
    install.env("CARGO_TARGET_DIR", planner.target_directory.join("packages"));
    let status = install.status()?;
    if !status.success() {
        return Ok(Err(format!("cargo install ended with {status}")));
    }
    let log = planner.root.join("data/rmm.csv");
    let mut replay = Command::new(installed.join("bin/pool-plan"));
    let printed = output(replay.arg("replay").arg(log))?;
    Ok(says(&String::from_utf8_lossy(&printed), "lower bound"))
}
