//! `cargo xtask wheel` builds and tests the Python module of the planner in the form that users
//! install.
//!
//! maturin builds the wheel, and pip installs it into an empty environment. Its tests run in this
//! environment, from a directory without its sources, and so does the example in its documentation.
//! mypy checks its types. Each assertion prints one line, and the last line counts them. The task
//! needs Python and pip's registry, and prints a message if they are not available.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};

use tasks::TaskError;
use tasks::checks::{Checks, Outcome};
use tasks::files::copy;
use tasks::workspace::{self, Workspace};

/// The crate and the package around it.
const PACKAGE: &str = "python";
/// The logs that the module's tests replay.
const DATA: &str = "data";
/// Runs the example in the module's own documentation, and checks that there is one.
const EXAMPLES: &str = "import doctest, sys, pool_plan\n\
    result = doctest.testmod(pool_plan)\n\
    sys.exit(0 if result.attempted and not result.failed else 1)";
const NAME: &str = "the Python module";

/// A Python environment.
struct Environment {
    directory: PathBuf,
}

/// Builds the wheel, installs it and tests it.
///
/// # Errors
///
/// Fails if a file cannot be written. A failed assertion is not an error, but sets the exit code.
pub(crate) fn run() -> Result<ExitCode, TaskError> {
    let workspace: Workspace = workspace::describe()?;
    let directory = tempfile::tempdir()?;
    let mut checks = Checks::default();
    match tools(directory.path()) {
        Ok(tools) => check(&workspace, directory.path(), &tools, &mut checks)?,
        Err(why) => checks.skip(NAME, &why),
    }
    println!("\n{checks}");
    Ok(checks.exit_code_of_optional())
}

/// Returns an environment with the tools that build and check the wheel, or the reason why there is
/// none.
fn tools(directory: &Path) -> Result<Environment, String> {
    let tools = Environment::new(directory.join("tools"))?;
    tools.install(&["maturin>=1.9,<2", "mypy>=1.15", "numpy>=1.24"])?;
    Ok(tools)
}

fn check(
    workspace: &Workspace,
    directory: &Path,
    tools: &Environment,
    checks: &mut Checks,
) -> Result<(), TaskError> {
    let package = workspace.root.join(PACKAGE);
    let wheels = directory.join("wheels");
    let mut build = tools.command("maturin");
    build.args(["build", "--release", "--out"]).arg(&wheels);
    build.current_dir(&package).env("CARGO_TARGET_DIR", workspace.target_directory.join("wheel"));
    let built = succeeds(&mut build)?;
    let is_built = built.is_ok();
    checks.that("maturin builds the wheel", built);
    if !is_built {
        return Ok(());
    }
    let types =
        succeeds(tools.command("mypy").args(["--strict", "pool_plan"]).current_dir(&package));
    checks.that("mypy accepts its types", types?);
    let user = Environment::new(directory.join("user"))?;
    // Installing the wheel does not install pytest, but does install NumPy.
    if let Err(why) = user.install(&["pytest>=8"]) {
        checks.skip("the tests of the Python module", &why);
        return Ok(());
    }
    let wheel = only_file(&wheels)?;
    let installed = user.install(&[&wheel.display().to_string()]);
    checks.that("pip installs it in a separate environment", installed);
    let tests = directory.join("tests");
    copy(&package.join("tests"), &tests)?;
    let mut test = user.command("python");
    test.args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "."]).current_dir(&tests);
    test.env("POOL_PLAN_DATA", workspace.root.join(DATA));
    checks.that("its tests pass in this environment", succeeds(&mut test)?);
    let mut example = user.command("python");
    checks.that(
        "its examples pass in this environment",
        succeeds(example.args(["-c", EXAMPLES]).current_dir(&tests))?,
    );
    Ok(())
}

impl Environment {
    /// Creates an environment that contains only pip.
    fn new(directory: PathBuf) -> Result<Self, String> {
        let mut make = Command::new("python3");
        make.args(["-m", "venv"]).arg(&directory);
        said(&mut make).map_err(|error| format!("python3 cannot be started: {error}"))??;
        Ok(Self { directory })
    }

    /// Returns a command that runs a program of the environment.
    fn command(&self, program: &str) -> Command {
        let programs = if cfg!(windows) { "Scripts" } else { "bin" };
        let mut command = Command::new(self.directory.join(programs).join(program));
        // The user's own Python settings must not affect this environment.
        command.env_remove("PYTHONPATH").env_remove("PYTHONHOME").env_remove("VIRTUAL_ENV");
        command
    }

    /// Installs packages with pip, or returns the reason why it cannot.
    fn install(&self, packages: &[&str]) -> Result<(), String> {
        let mut pip = self.command("python");
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]);
        pip.args(["--retries", "1"]).args(packages).env("PIP_ROOT_USER_ACTION", "ignore");
        said(&mut pip).map_err(|error| format!("pip cannot be started: {error}"))?
    }
}

/// Runs a command. If it fails, returns the last line that it printed.
fn said(command: &mut Command) -> std::io::Result<Result<(), String>> {
    let Output { status, stdout, stderr } = command.stdin(Stdio::null()).output()?;
    if status.success() {
        return Ok(Ok(()));
    }
    let printed = [stdout, stderr].concat();
    let printed = String::from_utf8_lossy(&printed).into_owned();
    let last = printed.lines().rev().find(|line| !line.trim().is_empty());
    Ok(Err(last.map_or_else(|| format!("{status}"), str::to_owned)))
}

/// Runs a command. If it fails, returns everything that it printed.
///
/// # Errors
///
/// Fails if the command cannot be started.
fn succeeds(command: &mut Command) -> Result<Outcome, TaskError> {
    let Output { status, stdout, stderr } = command.stdin(Stdio::null()).output()?;
    let printed = [stdout, stderr].concat();
    let failure = || format!("{status}\n{}", String::from_utf8_lossy(&printed));
    Ok(if status.success() { Ok(()) } else { Err(failure()) })
}

/// Returns the only file in a directory.
fn only_file(directory: &Path) -> Result<PathBuf, TaskError> {
    let files: Vec<PathBuf> = fs::read_dir(directory)?
        .map(|file| file.map(|file| file.path()))
        .collect::<Result<_, _>>()?;
    match <[PathBuf; 1]>::try_from(files) {
        Ok([file]) => Ok(file),
        Err(files) => Err(format!("expected one wheel, but found {}", files.len()).into()),
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{only_file, said, succeeds};

    #[test]
    fn a_failure_is_told_by_what_was_printed() {
        let shell = |line: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", line]);
            shell
        };
        assert_eq!(said(&mut shell("true")).unwrap(), Ok(()));
        let last = said(&mut shell("echo out; echo why >&2; echo >&2; exit 3")).unwrap();
        assert_eq!(last, Err("why".to_owned()));
        assert!(succeeds(&mut shell("true")).unwrap().is_ok());
        let all = succeeds(&mut shell("echo out; echo why >&2; exit 3")).unwrap().unwrap_err();
        assert!(all.contains("out\nwhy"), "{all}");
        assert!(succeeds(&mut Command::new("no-such-program")).is_err());
    }

    #[test]
    fn one_wheel_is_one_wheel() {
        let directory = tempfile::tempdir().unwrap();
        assert!(only_file(directory.path()).is_err());
        std::fs::write(directory.path().join("a.whl"), "").unwrap();
        assert!(only_file(directory.path()).unwrap().ends_with("a.whl"));
        std::fs::write(directory.path().join("b.whl"), "").unwrap();
        assert!(only_file(directory.path()).is_err());
    }
}
