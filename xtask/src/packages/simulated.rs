//! A user's crate whose tests run on the published simulated driver. The tests pass, and they fail
//! if the crate contains a race.
//!
//! The crate is `testing/cudarc-user`. It is copied to an empty directory and uses the packages
//! instead of the registry.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::unpacked::Unpacked;
use crate::TaskError;
use crate::test::features::SIMULATOR;
use tasks::checks::{Checks, Outcome, says};
use tasks::files::copy;
use tasks::programs::cargo;
use tasks::workspace::Workspace;

/// The path of the crate, and the name under which it depends on the simulator.
const CRATE: &str = "testing/cudarc-user";
const BY_PATH: &str = ", path = \"../../sim/cuda-sim-test\"";

/// The start of the line that a process prints at its end if there are findings.
const FOUND: &str = "cuda-sim-test: the simulated CUDA driver found";

/// Mistakes that the crate makes with a feature, and the texts that are printed: the kernel, both
/// accesses, and the missing order.
const PLANTED: &[(&str, &[&str])] = &[
    (
        "planted-race",
        &[
            FOUND,
            "race: kernel squares (stream ",
            ") reads bytes 0..",
            "nothing orders it after cuMemcpyHtoDAsync (stream ",
            "lacks an event",
        ],
    ),
    (
        "planted-race-in-kernel",
        &[
            FOUND,
            "race: kernel squares_without_barriers, block (",
            "`ld.shared.f32",
            "of shared memory; nothing orders it after block (",
            "`st.shared.f32",
            "lacks a barrier",
        ],
    ),
];

/// A variable with an invalid value. The error contains both.
const WRONG: (&str, &str) = ("CUDA_SIM_DEVICES", "9");
const REPORTED: &str = "CUDA_SIM_DEVICES=\"9\": it takes a whole number from 1 to 4";

/// The copy of the crate and its build directory.
struct Copy {
    crate_directory: PathBuf,
    target: PathBuf,
}

/// Copies the crate and runs its tests: unmodified, with each mistake, and with an invalid
/// variable.
///
/// # Errors
///
/// Fails if the crate cannot be copied, or if cargo cannot be started.
pub(super) fn check(
    workspace: &Workspace,
    directory: &Path,
    unpacked: &Unpacked,
    checks: &mut Checks,
) -> Result<(), TaskError> {
    let crate_directory = directory.join("cudarc-user");
    copy(&workspace.root.join(CRATE), &crate_directory)?;
    let manifest = crate_directory.join("Cargo.toml");
    let text = fs::read_to_string(&manifest)?;
    fs::write(&manifest, with_packages(&text, unpacked)?)?;
    let copy = Copy { crate_directory, target: workspace.target_directory.join("xtask/packages") };
    checks.that("a user's crate passes its tests on the simulated driver", copy.is_green()?);
    for (feature, parts) in PLANTED {
        checks.that(
            &format!("its tests fail with `{feature}` and report where"),
            copy.is_red(&["--features", feature], None, parts)?,
        );
    }
    checks.that("an invalid variable is reported", copy.is_red(&[], Some(WRONG), &[REPORTED])?);
    Ok(())
}

impl Copy {
    /// Checks that the tests pass and that nothing is found.
    fn is_green(&self) -> Result<Outcome, TaskError> {
        let (passed, output) = self.test(&[], None)?;
        let is_green = passed && !output.contains(FOUND);
        Ok(if is_green { Ok(()) } else { Err(format!("unexpected test output:\n{output}")) })
    }

    /// Checks that the tests fail and print these texts.
    fn is_red(
        &self,
        arguments: &[&str],
        variable: Option<(&str, &str)>,
        parts: &[&str],
    ) -> Result<Outcome, TaskError> {
        let (passed, output) = self.test(arguments, variable)?;
        if passed {
            return Ok(Err("its tests passed".to_owned()));
        }
        Ok(parts.iter().try_for_each(|part| says(&output, part)))
    }

    /// Runs the tests. Returns whether they passed, and their output.
    fn test(
        &self,
        arguments: &[&str],
        variable: Option<(&str, &str)>,
    ) -> Result<(bool, String), TaskError> {
        let mut test = cargo();
        test.args(["test", "--quiet", "--tests"]).args(arguments);
        test.current_dir(&self.crate_directory).env("CARGO_TARGET_DIR", &self.target);
        let answer = test.envs(variable).stdin(Stdio::null()).output()?;
        let output = [answer.stdout, answer.stderr].concat();
        Ok((answer.status.success(), String::from_utf8_lossy(&output).into_owned()))
    }
}

/// Returns the manifest, which uses the packages instead of the registry.
fn with_packages(manifest: &str, unpacked: &Unpacked) -> Result<String, TaskError> {
    if !manifest.contains(BY_PATH) {
        return Err(format!("the manifest of {CRATE} does not contain {BY_PATH:?}").into());
    }
    let mut text = manifest.replacen(BY_PATH, "", 1);
    text.push_str("\n[patch.crates-io]\n");
    for name in SIMULATOR {
        let path = unpacked.get(name).ok_or_else(|| format!("there is no package of {name}"))?;
        writeln!(text, "{name} = {{ path = {path:?} }}")?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::{Unpacked, with_packages};

    #[test]
    fn packages_take_the_places_of_paths_and_of_the_registry() {
        let packages =
            ["cuda-sim", "cuda-sim-test"].map(|name| (name, format!("/p/{name}").into()));
        let unpacked = Unpacked::from(packages);
        let manifest = "cuda-sim-test = { version = \"1\", path = \"../../sim/cuda-sim-test\" }\n";
        let text = with_packages(manifest, &unpacked).unwrap();
        assert!(text.starts_with("cuda-sim-test = { version = \"1\" }\n"), "{text}");
        assert!(
            text.contains("[patch.crates-io]\ncuda-sim = { path = \"/p/cuda-sim\" }\n"),
            "{text}"
        );
        assert!(with_packages("cuda-sim-test = \"1\"\n", &unpacked).is_err());
    }
}
