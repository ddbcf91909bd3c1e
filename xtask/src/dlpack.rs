//! `cargo xtask dlpack`: exchanges arrays between pools and numpy or torch, using the module in
//! `testing/dlpack-python`.
//!
//! The module is built in the same way as a user's module. pip installs numpy into an environment
//! below `target/`, which is reused. With `--full`, pip also installs torch, and the numpy tests
//! also run under the address sanitizer. Each assertion prints one line, and the last line counts
//! them. If Python, a package or a sanitizer is missing, the assertion is skipped and the reason is
//! printed.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::TaskError;
use tasks::checks::{Checks, Outcome};
use tasks::programs::cargo;
use tasks::toolchains::Toolchains;
use tasks::workspace::{self, Workspace};

/// The arguments of `cargo xtask dlpack`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Also exchange with torch, and test under the address sanitizer.
    #[arg(long)]
    full: bool,
    /// Exchange only with torch on the first CUDA device. `python3` must have torch with CUDA.
    #[arg(long, conflicts_with = "full")]
    device: bool,
}

/// The path of the module's package.
const PACKAGE: &str = "testing/dlpack-python";
/// The name of the module.
const MODULE: &str = "pool_dlpack_python";
/// The first numpy version with DLPack 1.0.
const NUMPY: &str = "numpy>=2.1";
/// The arguments that install torch for CPUs. The packages in the default registry include CUDA.
const TORCH: &[&str] = &["--index-url", "https://download.pytorch.org/whl/cpu", "torch>=2.4"];
const SANITIZED_TARGET: &str = "x86_64-unknown-linux-gnu";

/// Builds the module and runs its tests.
///
/// # Errors
///
/// Fails if a file cannot be written. A failed assertion is not returned as an error: it sets the
/// exit code.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let workspace: Workspace = workspace::describe()?;
    let place = Place {
        package: workspace.root.join(PACKAGE),
        directory: workspace.target_directory.join("dlpack"),
    };
    let mut checks = Checks::default();
    if arguments.device {
        check_on_device(&place, &mut checks)?;
        println!("\n{checks}");
        return Ok(checks.exit_code());
    }
    match place.python() {
        Ok(python) => check(&place, &python, arguments.full, &mut checks)?,
        Err(why) => checks.skip("numpy", &why),
    }
    println!("\n{checks}");
    Ok(checks.exit_code_of_optional())
}

fn check(place: &Place, python: &Path, full: bool, checks: &mut Checks) -> Result<(), TaskError> {
    let module = match place.build(&mut cargo(), "debug")? {
        Ok(module) => module,
        Err(why) => {
            checks.that("the module builds", Err(why));
            return Ok(());
        }
    };
    let numpy = place.test(python, &module, "test_numpy.py", &[])?;
    checks.that("numpy and a pool exchange arrays without copies", numpy);
    if !full {
        return Ok(());
    }
    match install(python, TORCH) {
        Err(why) => checks.skip("torch", &why),
        Ok(()) => {
            let torch = place.test(python, &module, "test_torch.py", &[])?;
            checks.that("torch and a pool exchange tensors without copies", torch);
        }
    }
    match sanitizer() {
        Err(why) => checks.skip("numpy under AddressSanitizer", &why),
        Ok((toolchain, runtime)) => {
            let mut build = Command::new("cargo");
            build.arg(format!("+{toolchain}")).args(["build", "--target", SANITIZED_TARGET]);
            build.env("RUSTFLAGS", "-Zsanitizer=address");
            let sanitized = place.build(&mut build, &format!("{SANITIZED_TARGET}/debug"))?;
            let outcome = match sanitized {
                Err(why) => Err(why),
                Ok(module) => {
                    // The interpreter frees little of its memory when it ends.
                    let variables =
                        [("LD_PRELOAD", runtime.as_str()), ("ASAN_OPTIONS", "detect_leaks=0")];
                    place.test(python, &module, "test_numpy.py", &variables)?
                }
            };
            checks.that(
                "numpy and a pool exchange arrays without copies under AddressSanitizer",
                outcome,
            );
        }
    }
    Ok(())
}

/// Exchanges device memory with torch. A missing device or a missing torch is a failure.
fn check_on_device(place: &Place, checks: &mut Checks) -> Result<(), TaskError> {
    let mut build = cargo();
    build.args(["build", "--features", "cuda"]);
    let outcome = match place.build(&mut build, "debug")? {
        Err(why) => Err(why),
        Ok(module) => place.test(Path::new("python3"), &module, "test_torch_cuda.py", &[])?,
    };
    checks.that("torch and a pool exchange tensors on a CUDA device without copies", outcome);
    Ok(())
}

/// The directories of the module and of the build results.
struct Place {
    package: PathBuf,
    directory: PathBuf,
}

impl Place {
    /// Returns an interpreter that has numpy, or the reason why there is none.
    fn python(&self) -> Result<PathBuf, String> {
        let environment = self.directory.join("environment");
        let python =
            environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
        if !python.exists() {
            printed(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
        }
        install(&python, &[NUMPY])?;
        Ok(python)
    }

    /// Builds the module, and copies it to where Python finds it by its name.
    fn build(
        &self,
        cargo: &mut Command,
        built: &str,
    ) -> Result<Result<PathBuf, String>, TaskError> {
        let target = self.directory.join("build");
        if cargo.get_args().next().is_none() {
            cargo.arg("build");
        }
        cargo.args(["--quiet", "--locked"]).current_dir(&self.package);
        // Without this variable, the module requires the shared library of one Python version.
        cargo.env("CARGO_TARGET_DIR", &target).env("PYO3_BUILD_EXTENSION_MODULE", "1");
        if let Err(why) = printed(cargo) {
            return Ok(Err(why));
        }
        let module = self.directory.join("module").join(built);
        fs::create_dir_all(&module)?;
        let library = target.join(built).join(format!("{DLL_PREFIX}{MODULE}{DLL_SUFFIX}"));
        let suffix = if cfg!(windows) { ".pyd" } else { ".so" };
        fs::copy(library, module.join(format!("{MODULE}{suffix}")))?;
        Ok(Ok(module))
    }

    /// Runs a test file. The file must contain at least one test.
    fn test(
        &self,
        python: &Path,
        module: &Path,
        tests: &str,
        variables: &[(&str, &str)],
    ) -> Result<Outcome, TaskError> {
        let mut run = of_environment(python);
        run.args(["-B", "-m", "unittest", "-v"]).arg(tests);
        run.current_dir(self.package.join("tests")).env("PYTHONPATH", module);
        run.envs(variables.iter().copied());
        let output = run.stdin(Stdio::null()).output()?;
        let printed = String::from_utf8_lossy(&output.stderr);
        let has_run = printed.contains("... ok");
        Ok(if output.status.success() && has_run { Ok(()) } else { Err(printed.into_owned()) })
    }
}

/// Returns a command for the interpreter that ignores the user's own environment.
fn of_environment(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.env_remove("PYTHONPATH").env_remove("PYTHONHOME").env_remove("VIRTUAL_ENV");
    command
}

/// Runs pip to install packages that are not installed yet.
fn install(python: &Path, packages: &[&str]) -> Result<(), String> {
    let mut pip = of_environment(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]);
    pip.args(["--retries", "1"]).args(packages).env("PIP_ROOT_USER_ACTION", "ignore");
    printed(&mut pip)
}

/// Returns a nightly toolchain, and the shared library of the sanitizer's runtime, which belongs to
/// the C compiler.
fn sanitizer() -> Result<(String, String), String> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")) {
        return Err(format!("sanitizers run only on {SANITIZED_TARGET}"));
    }
    let toolchain = Toolchains::detect().nightly_with(&[])?;
    let output = Command::new("cc").arg("-print-file-name=libasan.so").output();
    let output = output.map_err(|error| format!("cc cannot be started: {error}"))?;
    let name = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let path = fs::canonicalize(&name).map_err(|_| "cc has no libasan.so")?;
    Ok((toolchain, path.display().to_string()))
}

/// Runs a command. If it fails, returns its output.
fn printed(command: &mut Command) -> Result<(), String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{program} cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    Err(format!("{}: {}", output.status, String::from_utf8_lossy(&text).trim()))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::printed;

    #[test]
    fn a_failure_is_reported_by_what_was_printed() {
        assert_eq!(printed(&mut Command::new("true")), Ok(()));
        let why = printed(Command::new("sh").args(["-c", "echo out; echo why >&2; exit 3"]));
        assert!(why.unwrap_err().ends_with("out\nwhy"));
        assert!(printed(&mut Command::new("no-such-program")).unwrap_err().contains("started"));
    }
}
