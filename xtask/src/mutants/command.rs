//! The commands of `cargo mutants`: the list of mutants, and the test of those that were drawn.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::areas::Area;
use super::outcomes::{self, Mutant, Outcomes};
use crate::TaskError;
use tasks::programs::{cargo, output};

/// The version whose output is read here.
const VERSION: &str = "27";

/// Guesses at how to make a value of an unknown type. They fit none of the types here, and half of
/// a sample would be mutants that do not compile.
const GUESSES: &str = r"with .*\w::(new|from|from_iter)\(";

/// A test with which a mutant fails needs no smallest example, and no trace.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("PROPTEST_MAX_SHRINK_ITERS", "0"),
    ("RUST_BACKTRACE", "0"),
    ("CARGO_PROFILE_DEV_DEBUG", "0"),
    ("CARGO_PROFILE_TEST_DEBUG", "0"),
];

/// Seconds after which the tests of a mutant count as hanging, at least. The time measured without
/// a mutant is that of the first crate's tests; all of them together take some times as long.
const PATIENCE: &str = "90";

/// Exit codes of runs that have outcomes: nothing survived, something did, something hung.
const FINISHED: &[i32] = &[0, 2, 3];

/// Returns the reason why it cannot be run here; `None` if it can.
pub(super) fn missing() -> Option<String> {
    if tasks::programs::installed("cargo-mutants").is_some() {
        return None;
    }
    let install = format!("cargo install cargo-mutants --locked --version ^{VERSION}");
    Some(format!("cargo-mutants is not installed here: {install}"))
}

/// Lists all mutants of an area.
///
/// # Errors
///
/// If they are not listed.
pub(super) fn list(area: &Area) -> Result<Vec<Mutant>, TaskError> {
    let mut list = of(area);
    outcomes::listed(&output(list.args(["--list", "--json"]))?)
}

/// Tries these mutants of an area, in a copy of the tree, and reads their outcomes.
///
/// # Errors
///
/// If the tests fail without a mutant, or if not all mutants are finished.
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
    // Each copy of the tree has a build directory of its own.
    run.env_remove("CARGO_TARGET_DIR").stdin(Stdio::null());
    let status = run.status()?;
    if !status.code().is_some_and(|code| FINISHED.contains(&code)) {
        let directory = area.directory;
        return Err(format!("cargo mutants ended with {status} in {directory}").into());
    }
    Outcomes::read(&reports.join("mutants.out/outcomes.json"), mutants)
}

/// Returns the common part of the two: the choice of mutants.
fn of(area: &Area) -> Command {
    let mut command = cargo();
    command.args(["mutants", "--no-config", "--colors", "never", "--package", area.package]);
    command.args(["--file", &format!("{}/**", area.directory), "--exclude-re", GUESSES]);
    command
}

/// Returns the arguments that select the mutants to try, and their tests.
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
    // Examples in the documentation take longer than all else, and do not test the internals.
    arguments.extend(["--", "--lib", "--tests", "--"].map(str::to_owned));
    arguments.extend(area.without.iter().flat_map(|part| option("--skip", part)));
    arguments
}

/// Returns a regular expression that matches a text literally.
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
