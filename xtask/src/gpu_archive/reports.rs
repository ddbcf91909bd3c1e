//! Reads the reports of a run and compares them with the manifest.

use std::collections::BTreeSet;

use serde_json::Value;

use super::machine::Run;
use crate::gpu_test::Manifest;
use tasks::checks::{Outcome, same, says};

/// The text that ends the last line and every complaint of a run on a simulated driver.
pub(super) const NOTE: &str = ", on a SIMULATED driver: no result about a GPU";

/// How a runner names tests.
#[derive(Clone, Copy, Debug)]
pub(super) enum Runner {
    /// By the file name of the program.
    Script,
    /// By the crate and the target of the program.
    Nextest,
}

/// Checks that all tests in the manifest ran and passed, and that no report contradicts this.
pub(super) fn all_passed(run: &Run, manifest: &Manifest) -> Outcome {
    run.ended_with(0)?;
    let all = manifest.gpu_tests;
    same(&run.last_line(), &&*format!("{all} passed, 0 failed, 0 skipped{NOTE}"))
}

/// Checks that the report lists exactly the tests in the manifest, and that each has passed.
pub(super) fn report_is_of(run: &Run, manifest: &Manifest, runner: Runner) -> Outcome {
    let report = run.report()?;
    let all = manifest.gpu_tests;
    let expected = [("expected", all), ("passed", all), ("failed", 0), ("skipped", 0)];
    for (key, count) in expected {
        same(&report[key], &Value::from(count)).map_err(|why| format!("{key}: {why}"))?;
    }
    same(&report["outcome"], &Value::from("passed"))?;
    let tests = report["tests"].as_array().ok_or("the report has no tests")?;
    let mut found = BTreeSet::new();
    for test in tests {
        same(&test["outcome"], &Value::from("passed")).map_err(|why| format!("{test}: {why}"))?;
        found.insert(name(text(&test["program"])?, text(&test["test"])?, runner));
    }
    same(&tests.len(), &all)?;
    same(&found, &named(manifest, runner))
}

/// Checks the report for CI systems in the same way.
pub(super) fn junit_is_of(run: &Run, manifest: &Manifest, runner: Runner) -> Outcome {
    let junit = run.file("junit.xml")?;
    let cases: Vec<&str> = junit.split("<testcase ").skip(1).collect();
    same(&cases.len(), &manifest.gpu_tests)?;
    let mut found = BTreeSet::new();
    for case in &cases {
        for bad in ["<failure", "<error", "<skipped"] {
            if case.contains(bad) {
                return Err(format!("{bad} in {case}"));
            }
        }
        let value = |key: &str| {
            let start = case.find(&format!("{key}=\""))? + key.len() + 2;
            case[start..].split('"').next()
        };
        // The `name` key is also part of other keys.
        let test = case.strip_prefix("name=\"").and_then(|rest| rest.split('"').next());
        let program = value("classname").ok_or("a test case has no program")?;
        found.insert(name(program, test.ok_or("a test case has no name")?, runner));
    }
    same(&found, &named(manifest, runner))?;
    says(&junit, "<testsuites name=\"gpu-test-on-a-simulated-driver\"")
}

/// Checks that a report from a simulated driver cannot be mistaken for a report from hardware.
pub(super) fn says_that_it_is_simulated(run: &Run) -> Outcome {
    let report = run.report()?;
    same(&report["simulated"], &Value::from(true))?;
    same(&report["kind"], &Value::from("gpu-test-on-a-simulated-driver"))?;
    same(&report["device"], &Value::from("Disguised device"))?;
    match run.last_line().ends_with(NOTE) {
        true => Ok(()),
        false => Err(format!("the last line is {}", run.last_line())),
    }
}

fn text(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| format!("{value} is not text"))
}

/// Returns the name of a test. nextest does not name files.
fn name(program: &str, test: &str, runner: Runner) -> String {
    match runner {
        Runner::Script => format!("{program} {test}"),
        Runner::Nextest => test.to_owned(),
    }
}

fn named(manifest: &Manifest, runner: Runner) -> BTreeSet<String> {
    manifest.tests().map(|(program, test)| name(program, test, runner)).collect()
}
