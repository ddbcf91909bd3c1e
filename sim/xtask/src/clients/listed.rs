//! Tests of a suite that cannot pass on the simulated driver. They are listed in a file in the
//! repository.

use tasks::TaskError;
use tasks::checks::Outcome;

/// A list for one version of a crate.
#[derive(Clone, Debug)]
pub(super) struct List {
    /// The crate and version that the list is for, for example `cudarc 0.19.10`.
    pub(super) of: String,
    tests: Vec<Listed>,
}

/// A test that cannot pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    /// The name of the test in its program.
    pub(super) test: String,
    pub(super) expectation: Expectation,
    pub(super) reason: String,
    /// The file and line in the crate's sources.
    pub(super) place: String,
}

/// The expected outcome of a test that cannot pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expectation {
    /// The test fails in every run.
    Fails,
    /// The test is too slow for daily runs. It only runs on request, and must then pass.
    Slow,
    /// The test does not run, because it measures time and its outcome depends on chance, or
    /// because it does not end within a reasonable time.
    NotRun,
}

/// The outcome of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Passed,
    /// The test failed with this output.
    Failed(String),
}

impl Listed {
    /// Returns `true` if the test is skipped. `slow` includes the slow tests in the run.
    pub(super) fn is_left_out(&self, slow: bool) -> bool {
        match self.expectation {
            Expectation::Fails => false,
            Expectation::Slow => !slow,
            Expectation::NotRun => true,
        }
    }
}

impl List {
    /// Parses a list. The first line is `# of CRATE VERSION`, and each further line describes a
    /// test. A line contains the name, `fails`, `slow` or `not run`, the position and the reason,
    /// separated by tabs.
    ///
    /// # Errors
    ///
    /// Fails if a line is invalid.
    pub(super) fn parse(text: &str) -> Result<Self, TaskError> {
        let first = text.lines().next().and_then(|line| line.strip_prefix("# of "));
        let of = first.ok_or("the first line of the list is not `# of CRATE VERSION`")?.to_owned();
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        Ok(Self { of, tests: lines.map(parse_line).collect::<Result<_, _>>()? })
    }

    /// Returns the entry of a test.
    pub(super) fn get(&self, test: &str) -> Option<&Listed> {
        self.tests.iter().find(|listed| listed.test == test)
    }

    /// Returns the names of the skipped tests. `slow` includes the slow tests in the run.
    pub(super) fn left_out(&self, slow: bool) -> Vec<String> {
        let left_out = self.tests.iter().filter(|listed| listed.is_left_out(slow));
        left_out.map(|listed| listed.test.clone()).collect()
    }

    /// Returns entries that name a test which the suite does not contain.
    pub(super) fn unknown<'l>(&'l self, tests: &[String]) -> Vec<&'l str> {
        let names = self.tests.iter().map(|listed| listed.test.as_str());
        names.filter(|name| !tests.iter().any(|test| test == name)).collect()
    }

    /// Compares the outcome of a test with its entry in the list.
    pub(super) fn judge(&self, test: &str, ending: &Ending) -> Outcome {
        match (self.get(test).map(|listed| listed.expectation), ending) {
            (None | Some(Expectation::Slow), Ending::Passed)
            | (Some(Expectation::Fails | Expectation::NotRun), Ending::Failed(_)) => Ok(()),
            (None | Some(Expectation::Slow), Ending::Failed(output)) => {
                Err(format!("the test fails, but is not listed as failing:\n{output}"))
            }
            (Some(_), Ending::Passed) => {
                Err("the test passes, but is listed as failing".to_owned())
            }
        }
    }
}

fn parse_line(line: &str) -> Result<Listed, TaskError> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [test, expectation, place, reason] = fields[..] else {
        return Err(format!("the line is not a list entry: {line:?}").into());
    };
    let expectation = match expectation {
        "fails" => Expectation::Fails,
        "slow" => Expectation::Slow,
        "not run" => Expectation::NotRun,
        _ => {
            return Err(format!(
                "{test} must be `fails`, `slow`, or `not run`, not {expectation:?}"
            )
            .into());
        }
    };
    let [test, place, reason] = [test, place, reason].map(str::to_owned);
    Ok(Listed { test, expectation, reason, place })
}

#[cfg(test)]
mod tests {
    use super::{Ending, List};

    const LIST: &str = "# of cudarc 0.19.10\n\
                        core::tests::a\tfails\tsrc/core.rs:12\tit needs a camera\n\
                        core::tests::b\tnot run\tsrc/core.rs:40\tit measures time\n\
                        core::tests::d\tslow\tsrc/core.rs:50\tit counts to a billion\n";

    #[test]
    fn a_test_must_end_as_the_list_says() {
        let list = List::parse(LIST).unwrap();
        let failed = Ending::Failed("assertion failed".to_owned());
        assert_eq!(list.judge("core::tests::c", &Ending::Passed), Ok(()));
        assert_eq!(list.judge("core::tests::a", &failed), Ok(()));
        let unlisted = list.judge("core::tests::c", &failed).unwrap_err();
        assert!(unlisted.contains("assertion failed"), "{unlisted}");
        let mended = list.judge("core::tests::a", &Ending::Passed).unwrap_err();
        assert!(mended.contains("the test passes"), "{mended}");
        assert_eq!(list.judge("core::tests::d", &Ending::Passed), Ok(()));
        assert!(list.judge("core::tests::d", &failed).is_err());
    }

    #[test]
    fn a_list_is_of_a_version_and_knows_its_tests() {
        let list = List::parse(LIST).unwrap();
        assert_eq!(list.of, "cudarc 0.19.10");
        let left_out = |test, slow| list.get(test).unwrap().is_left_out(slow);
        assert!(left_out("core::tests::b", true) && !left_out("core::tests::a", false));
        assert!(left_out("core::tests::d", false) && !left_out("core::tests::d", true));
        assert_eq!(list.left_out(true), ["core::tests::b"]);
        assert_eq!(list.left_out(false), ["core::tests::b", "core::tests::d"]);
        let tests = ["a", "d"].map(|test| format!("core::tests::{test}"));
        assert_eq!(list.unknown(&tests), ["core::tests::b"]);
    }

    #[test]
    fn other_lines_are_refused() {
        assert!(List::parse("core::tests::a\tfails\tsrc/core.rs:12\tno first line\n").is_err());
        assert!(List::parse("# of x 1\na\tfails\tonly three\n").is_err());
        assert!(List::parse("# of x 1\na\tperhaps\tb:1\treason\n").is_err());
    }
}
