//! A crate's own tests. Their outcomes must be the same before and after the patch. Some fail in
//! both cases, because they need data that the package does not contain.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use super::adoptions::Adoption;
use super::building::cargo_for;
use tasks::TaskError;
use tasks::checks::Outcome;
use tasks::tally::Tally;

/// The outcomes of a crate's tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnTests {
    tally: Tally,
    /// The name and outcome of each test, ordered by name.
    tests: Vec<String>,
}

/// Runs the tests of a copy. Their output is stored next to the copy.
///
/// # Errors
///
/// Fails if cargo cannot be started, or if its output cannot be stored.
pub(super) fn run(adoption: &Adoption, copy: &Path, made: &Path) -> Result<OwnTests, TaskError> {
    let mut test = cargo_for(made);
    test.args(["test", "--no-fail-fast"]).args(adoption.test_arguments).current_dir(copy);
    if adoption.tests_are_unstable {
        // This enables unstable features, as the authors' nightly compiler does. The rest uses the
        // same compiler as everything else.
        test.env("RUSTC_BOOTSTRAP", "1");
    }
    let answer = test.stdin(Stdio::null()).output()?;
    let output = String::from_utf8_lossy(&answer.stdout);
    let complaints = String::from_utf8_lossy(&answer.stderr);
    fs::write(copy.with_extension("tests.log"), format!("{complaints}\n{output}"))?;
    Ok(OwnTests::of(&output, answer.status.success()))
}

impl OwnTests {
    fn of(output: &str, succeeded: bool) -> Self {
        let mut tests: Vec<String> = output.lines().filter_map(parse_test).collect();
        tests.sort_unstable();
        Self { tally: Tally::of_tests(output, succeeded), tests }
    }

    /// Checks that the same tests had the same outcomes, and that there was at least one test.
    pub(super) fn same_as(&self, before: &Self) -> Outcome {
        if before.tally.passed == 0 {
            return Err(format!("no test passed before the patch: {before}"));
        }
        let missing = |one: &&String| !self.tests.contains(one);
        let added = |one: &&String| !before.tests.contains(one);
        let differences: Vec<_> = before.tests.iter().filter(missing).cloned().collect();
        let new: Vec<_> = self.tests.iter().filter(added).cloned().collect();
        if differences.is_empty() && new.is_empty() && self.tally == before.tally {
            return Ok(());
        }
        Err(format!("after the patch: {self}; {differences:?} became {new:?}"))
    }
}

/// Formats the outcomes, for example as `57 passed, 2 failed (reads_png, reads_gif)`.
impl fmt::Display for OwnTests {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { passed, failed, skipped } = self.tally;
        write!(formatter, "{passed} passed, {failed} failed, {skipped} ignored")?;
        let failed = self.tests.iter().filter_map(|test| test.strip_suffix(" FAILED"));
        let failed: Vec<&str> = failed.collect();
        if failed.is_empty() { Ok(()) } else { write!(formatter, " ({})", failed.join(", ")) }
    }
}

/// Parses a line `test name ... ok` and returns `name ok`. For a documentation example, the line
/// number is removed, because a patch changes it.
fn parse_test(line: &str) -> Option<String> {
    let (name, outcome) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let name = name.split(" (line ").next().unwrap_or(name);
    Some(format!("{name} {outcome}"))
}

#[cfg(test)]
mod tests {
    use super::OwnTests;

    const BEFORE: &str = "\
running 3 tests
test filter::blurs ... ok
test reads_png ... FAILED
test slow ... ignored, takes minutes

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s

running 1 test
test src/lib.rs - Filter (line 21) ... ok

test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.27s
";

    #[test]
    fn the_same_outcomes_are_the_same_wherever_an_example_stands() {
        let before = OwnTests::of(BEFORE, false);
        let after = OwnTests::of(&BEFORE.replace("(line 21)", "(line 24)"), false);
        after.same_as(&before).unwrap();
        assert_eq!(before.to_string(), "2 passed, 1 failed, 1 ignored (reads_png)");
    }

    #[test]
    fn a_test_that_ends_otherwise_or_is_missing_is_named() {
        let before = OwnTests::of(BEFORE, false);
        let broken = BEFORE.replace("blurs ... ok", "blurs ... FAILED");
        let why = OwnTests::of(&broken, false).same_as(&before).unwrap_err();
        assert!(why.contains("filter::blurs ok") && why.contains("filter::blurs FAILED"), "{why}");
        let missing = BEFORE.replace("test filter::blurs ... ok\n", "");
        assert!(OwnTests::of(&missing, false).same_as(&before).is_err());
    }

    #[test]
    fn where_nothing_passed_nothing_is_the_same() {
        let neither = OwnTests::of("error: could not compile\n", false);
        assert!(neither.same_as(&neither.clone()).is_err());
    }
}
