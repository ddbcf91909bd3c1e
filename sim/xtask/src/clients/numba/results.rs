//! The outcomes of a module's tests, as `suite.py` writes them.

use std::collections::BTreeMap;

use super::super::listed::Ending;

/// The outcome of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Result {
    Ended(Ending),
    /// The test skipped itself for this reason.
    Skipped(String),
}

/// Parses a file of results. The outcomes are ordered by the names of the tests.
///
/// If a test has begun but has no further line, it has ended its process or did not finish.
pub(super) fn parse(text: &str) -> BTreeMap<String, Result> {
    let mut results = BTreeMap::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.splitn(4, '\t').collect();
        let [kind, test, _, why] = fields[..] else { continue };
        let result = match kind {
            "started" => Result::Ended(Ending::Failed("the test did not finish".to_owned())),
            // A test counts as failed, even if a later phase of it passes.
            "passed" | "expected" if has_failed(&results, test) => continue,
            "passed" | "expected" => Result::Ended(Ending::Passed),
            "skipped" => Result::Skipped(why.to_owned()),
            _ => Result::Ended(Ending::Failed(why.to_owned())),
        };
        results.insert(test.to_owned(), result);
    }
    results
}

/// Returns `true` if a test has failed, and not only because it did not finish.
fn has_failed(results: &BTreeMap<String, Result>, test: &str) -> bool {
    let begun = Result::Ended(Ending::Failed("the test did not finish".to_owned()));
    results
        .get(test)
        .is_some_and(|known| *known != begun && matches!(known, Result::Ended(Ending::Failed(_))))
}

#[cfg(test)]
mod tests {
    use super::super::super::listed::Ending;
    use super::{Result, parse};

    #[test]
    fn a_test_ends_as_its_last_line_says_but_for_parts_that_failed() {
        let text = "started\ta\t0\t\npassed\ta\t0.1\t\nstarted\tb\t0\t\nfailed\tb\t0.1\tno: 1 != 2\n\
                    passed\tb\t0.1\t\nstarted\tc\t0\t\nskipped\tc\t0\tno camera\nstarted\td\t0\t\n\
                    started\te\t0\t\nexpected\te\t0\tknown\nuncollected\tf.py\t0\tno module\n";
        let failed = |why: &str| Result::Ended(Ending::Failed(why.to_owned()));
        let expected = [
            ("a", Result::Ended(Ending::Passed)),
            ("b", failed("no: 1 != 2")),
            ("c", Result::Skipped("no camera".to_owned())),
            ("d", failed("the test did not finish")),
            ("e", Result::Ended(Ending::Passed)),
            ("f.py", failed("no module")),
        ];
        let expected = expected.map(|(test, result)| (test.to_owned(), result));
        assert_eq!(parse(text).into_iter().collect::<Vec<_>>(), expected);
    }
}
