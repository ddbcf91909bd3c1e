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
    let bindgen = bindgen(workspace, &directory)?;
    if with_page {
        let module = page(workspace, &directory.join("page"))?;
        copy_page(&workspace.root.join("examples/19_browser/page"), &site)?;
        run(Command::new(&bindgen).arg(module).arg(&site))?;
    }
    if !with_tests {
        return Ok(site);
    }
    let nightly = Toolchains::detect().nightly_with(&["rust-src"])?;
    let tests = site.join("tests");
    let module = tests_for(workspace, &nightly, &directory.join("tests"))?;
    copy_page(&workspace.root.join("testing/browser-tests/page"), &tests)?;
    run(Command::new(&bindgen).arg(module).arg(&tests))?;
    Ok(site)
}

fn bindgen(workspace: &Workspace, directory: &Path) -> Result<PathBuf, TaskError> {
    let target = directory.join("tools");
    let mut build = cargo();
    build.args(["build", "--quiet", "--locked", "--manifest-path"]);
    build.arg(workspace.root.join(BINDGEN).join("Cargo.toml"));
    run(build.env("CARGO_TARGET_DIR", &target))?;
    Ok(target.join("debug/web-bindgen"))
}

/// Builds the module of the page with the toolchain that runs this task.
fn page(workspace: &Workspace, target: &Path) -> Result<PathBuf, TaskError> {
    Toolchains::detect().target(TARGET)?;
    let mut build = cargo();
    build.args(["build", "--quiet", "--locked", "--profile", "web", "--target", TARGET]);
    build.args(["--package", "pool-browser"]).current_dir(&workspace.root);
    run(build.env("CARGO_TARGET_DIR", target))?;
    Ok(target.join(TARGET).join("web/pool_browser.wasm"))
}

/// Builds the module of the tests with a standard library that supports unwinding.
fn tests_for(workspace: &Workspace, nightly: &str, target: &Path) -> Result<PathBuf, TaskError> {
    let mut build = cargo();
    build.arg(format!("+{nightly}")).args(["build", "--quiet", "--locked"]);
    build.args(["-Z", "build-std=std,panic_unwind", "--target", TARGET]);
    build.args(["--package", "browser-tests"]).current_dir(&workspace.root);
    build.env("RUSTFLAGS", FLAGS).env("CARGO_TARGET_DIR", target);
    build.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_PROFILE_DEV_STRIP", "debuginfo");
    run(&mut build)?;
    Ok(target.join(TARGET).join("debug/browser_tests.wasm"))
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
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} ended with {status}").into()) }
}
