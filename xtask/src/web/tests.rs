//! Runs the tests of other crates in the browser, with one check for each test.

use serde_json::json;
use tasks::checks::Checks;

use super::browser::Browser;
use crate::TaskError;

/// Runs the tests whose names contain `only`.
///
/// # Errors
///
/// Fails if the browser fails. A failed test is not returned as an error: it is counted as a check.
pub(crate) fn run(
    browser: &mut Browser,
    address: &str,
    only: Option<&str>,
    checks: &mut Checks,
) -> Result<(), TaskError> {
    browser.open(&format!("{address}tests/"), "globalThis.tests")?;
    let names = browser.evaluate("tests.names")?;
    let names: Vec<String> = serde_json::from_value(names)?;
    let chosen = |name: &str| only.is_none_or(|part| name.contains(part));
    for (number, name) in names.iter().enumerate().filter(|(_, name)| chosen(name)) {
        let outcome = browser.evaluate(&format!("tests.runTest({number})"))?;
        let report = outcome["report"].as_str().unwrap_or_default().trim();
        let seconds = outcome["seconds"].as_f64().unwrap_or_default();
        let shown = format!("{name} ({seconds:.1} s)");
        if report.contains("SKIPPED") {
            checks.skip(&shown, report);
            continue;
        }
        let has_passed = outcome["passed"] == json!(true);
        checks.that(&shown, if has_passed { Ok(()) } else { Err(report.to_owned()) });
        if has_passed && !report.is_empty() {
            println!("    {}", report.replace('\n', "\n    "));
        }
    }
    Ok(())
}
