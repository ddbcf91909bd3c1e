//! Builds the files that the server serves: the page of example 19, and the tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tasks::programs::cargo;
use tasks::toolchains::Toolchains;
use tasks::workspace::Workspace;

use crate::TaskError;

/// The target for browsers.
const TARGET: &str = "wasm32-unknown-unknown";

/// The program that generates the JavaScript for a module. It has its own workspace.
const BINDGEN: &str = "tools/web-bindgen";

/// The flags for the tests. Panics unwind as on other targets, tests can make streams fail, and
/// tests can wait.
const FLAGS: &str =
    "-Cpanic=unwind --cfg pool_browser_tests --cfg getrandom_backend=\"unsupported\"";

/// A command of cargo, and the file that it builds.
struct Build {
    command: Command,
    output: PathBuf,
}

/// Builds the page, the tests, or both. Returns the directory that the server serves.
///
/// # Errors
///
/// Fails if a part does not build, or if a toolchain is missing.
pub(crate) fn site(
    workspace: &Workspace,
    with_page: bool,
    with_tests: bool,
) -> Result<PathBuf, TaskError> {
    let directory = workspace.target_directory.join("web");
    let site = directory.join("site");
    let mut bindgen = bindgen(workspace, &directory);
    let mut page = with_page.then(|| page(workspace, &directory.join("page"))).transpose()?;
    let mut tests =
        with_tests.then(|| tests_for(workspace, &directory.join("tests"))).transpose()?;
    let parts = [Some(&mut bindgen), page.as_mut(), tests.as_mut()];
    run_together(parts.into_iter().flatten().map(|part| &mut part.command))?;
    if let Some(module) = page {
        copy_page(&workspace.root.join("examples/19_browser/page"), &site)?;
        run(Command::new(&bindgen.output).arg(module.output).arg(&site))?;
    }
    if let Some(module) = tests {
        let site = site.join("tests");
        copy_page(&workspace.root.join("testing/browser-tests/page"), &site)?;
        run(Command::new(&bindgen.output).arg(module.output).arg(&site))?;
    }
    Ok(site)
}

fn bindgen(workspace: &Workspace, directory: &Path) -> Build {
    let target = directory.join("tools");
    let mut build = cargo();
    build.args(["build", "--quiet", "--locked", "--manifest-path"]);
    build.arg(workspace.root.join(BINDGEN).join("Cargo.toml"));
    build.env("CARGO_TARGET_DIR", &target);
    Build { command: build, output: target.join("debug/web-bindgen") }
}

/// Builds the module of the page with the toolchain that runs this task.
fn page(workspace: &Workspace, target: &Path) -> Result<Build, TaskError> {
    Toolchains::detect().target(TARGET)?;
    let mut build = cargo();
    build.args(["build", "--quiet", "--locked", "--profile", "web", "--target", TARGET]);
    build.args(["--package", "pool-browser"]).current_dir(&workspace.root);
    build.env("CARGO_TARGET_DIR", target);
    Ok(Build { command: build, output: target.join(TARGET).join("web/pool_browser.wasm") })
}

/// Builds the module of the tests with a standard library that supports unwinding.
fn tests_for(workspace: &Workspace, target: &Path) -> Result<Build, TaskError> {
    let nightly = Toolchains::detect().nightly_with(&["rust-src"])?;
    let mut build = cargo();
    build.arg(format!("+{nightly}")).args(["build", "--quiet", "--locked"]);
    build.args(["-Z", "build-std=std,panic_unwind", "--target", TARGET]);
    build.args(["--package", "browser-tests"]).current_dir(&workspace.root);
    build.env("RUSTFLAGS", FLAGS).env("CARGO_TARGET_DIR", target);
    build.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_PROFILE_DEV_STRIP", "debuginfo");
    Ok(Build { command: build, output: target.join(TARGET).join("debug/browser_tests.wasm") })
}

fn copy_page(from: &Path, to: &Path) -> Result<(), TaskError> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        fs::copy(&path, to.join(path.file_name().unwrap_or_default()))?;
    }
    Ok(())
}

fn run(command: &mut Command) -> Result<(), TaskError> {
    run_together([command])
}

/// Runs the commands at the same time, and waits for all of them.
fn run_together<'a>(commands: impl IntoIterator<Item = &'a mut Command>) -> Result<(), TaskError> {
    let started: Vec<_> =
        commands.into_iter().map(|command| (command.spawn(), format!("{command:?}"))).collect();
    let mut result = Ok(());
    for (child, command) in started {
        let status = child.and_then(|mut child| child.wait());
        result = result.and(match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("{command} ended with {status}")),
            Err(error) => Err(format!("{command}: {error}")),
        });
    }
    Ok(result?)
}
