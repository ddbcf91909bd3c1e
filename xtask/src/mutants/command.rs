//! The `cargo mutants` commands that list mutants and test the selected ones.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::areas::Area;
use super::outcomes::{self, Mutant, Outcomes};
use crate::TaskError;
use tasks::programs::{cargo, output};

/// The version of cargo-mutants whose output this code reads.
const VERSION: &str = "27";

/// Guesses at how to create a value of an unknown type. They match none of the types in this
/// repository, so half of a sample would consist of mutants that do not compile.
const GUESSES: &str = r"with .*\w::(new|from|from_iter)\(";

/// A test that fails for a mutant needs no minimal example and no trace.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("PROPTEST_MAX_SHRINK_ITERS", "0"),
    ("RUST_BACKTRACE", "0"),
    ("CARGO_PROFILE_DEV_DEBUG", "0"),
    ("CARGO_PROFILE_TEST_DEBUG", "0"),
];

/// The minimum number of seconds after which the tests of a mutant are treated as hanging.
/// cargo-mutants measures only the first crate's tests without a mutant, and all tests together
/// take several times as long.
const PATIENCE: &str = "90";

/// The exit codes of runs that produce outcomes: no mutant survived, some survived, some hung.
const FINISHED: &[i32] = &[0, 2, 3];

/// Returns the reason why cargo-mutants cannot run, or `None` if it can.
pub(super) fn missing() -> Option<String> {
    if tasks::programs::installed("cargo-mutants").is_some() {
        return None;
    }
    let install = format!("cargo install cargo-mutants --locked --version ^{VERSION}");
    Some(format!("cargo-mutants is not installed: run `{install}`"))
}

/// Lists all mutants in an area.
///
/// # Errors
///
/// Fails if cargo-mutants does not list them.
pub(super) fn list(area: &Area) -> Result<Vec<Mutant>, TaskError> {
    let mut list = of(area);
    outcomes::listed(&output(list.args(["--list", "--json"]))?)
}

/// Tests these mutants of an area in a copy of the source tree, and reads the outcomes.
///
/// # Errors
///
/// Fails if the tests fail without a mutant, or if some mutants were not finished.
pub(super) fn run(
    area: &Area,
    mutants: &[Mutant],
    jobs: usize,
    reports: &Path,
) -> Result<Outcomes, TaskError> {
    let reports: PathBuf = reports.join(area.name());
    std::fs::create_dir_all(&reports)?;
    let mut run = of(area);
    run.arg("--output").arg(&reports).args(arguments(area, mutants, jobs));
    run.envs(ENVIRONMENT.iter().copied()).env("POOL_TEST_CASES", area.cases.to_string());
    run.env("CARGO_PROFILE_DEV_OPT_LEVEL", area.opt_level);
    // Each copy of the tree has its own build directory.
    run.env_remove("CARGO_TARGET_DIR").stdin(Stdio::null());
    let status = run.status()?;
    if !status.code().is_some_and(|code| FINISHED.contains(&code)) {
        let directory = area.directory;
        return Err(format!("cargo mutants ended with {status} in {directory}").into());
    }
    Outcomes::read(&reports.join("mutants.out/outcomes.json"), mutants)
}

/// Returns the part that both commands share: which mutants exist.
fn of(area: &Area) -> Command {
    let mut command = cargo();
    command.args(["mutants", "--no-config", "--colors", "never", "--package", area.package]);
    command.args(["--file", &format!("{}/**", area.directory), "--exclude-re", GUESSES]);
    command
}

/// Returns the arguments that select the mutants and their tests.
fn arguments(area: &Area, mutants: &[Mutant], jobs: usize) -> Vec<String> {
    let option = |name: &str, value: &str| [name.to_owned(), value.to_owned()];
    let mut arguments = Vec::new();
    arguments.extend(option("--jobs", &jobs.to_string()));
    arguments.extend(option("--minimum-test-timeout", PATIENCE));
    arguments.extend(option("--test-package", &area.tested_by.join(",")));
    if !area.default_features {
        arguments.push("--no-default-features".to_owned());
    }
    if !area.features.is_empty() {
        arguments.extend(option("--features", &area.features.join(",")));
    }
    for mutant in mutants {
        arguments.extend(option("--re", &format!("^{}$", escaped(&mutant.name))));
    }
    // Documentation examples take longer than everything else and do not test internals.
    arguments.extend(["--", "--lib", "--tests", "--"].map(str::to_owned));
    arguments.extend(area.without.iter().flat_map(|part| option("--skip", part)));
    arguments
}

/// Returns a regular expression that matches the text literally.
fn escaped(text: &str) -> String {
    let mut expression = String::with_capacity(text.len() * 2);
    for letter in text.chars() {
        if r"\.+*?()|[]{}^$#&-~".contains(letter) {
            expression.push('\\');
        }
        expression.push(letter);
    }
    expression
}

#[cfg(test)]
mod tests {
    use super::super::areas::AREAS;
    use super::{Mutant, arguments, escaped};

    #[test]
    fn a_name_is_no_expression() {
        let name = "a.rs:1:2: replace |= with &= in <impl Eq for Set<'_, T>>::f -> [u8; 3]";
        assert_eq!(
            escaped(name),
            r"a\.rs:1:2: replace \|= with \&= in <impl Eq for Set<'_, T>>::f \-> \[u8; 3\]"
        );
    }

    #[test]
    fn tests_are_those_of_the_area() {
        let mutant = Mutant { name: "b.rs:1:2: delete !".to_owned() };
        for area in AREAS {
            let arguments = arguments(area, &[mutant.clone(), mutant.clone()], 3).join(" ");
            assert!(!arguments.contains("all-features") && arguments.contains("--jobs 3"));
            assert_eq!(arguments.matches(r"--re ^b\.rs:1:2: delete !$").count(), 2);
            assert!(arguments.contains(&format!("--test-package {}", area.tested_by.join(","))));
            assert_eq!(arguments.contains("--no-default-features"), !area.default_features);
            assert!(area.features.iter().all(|feature| arguments.contains(feature)));
            assert_eq!(arguments.matches(" --skip ").count(), area.without.len());
        }
    }
}
