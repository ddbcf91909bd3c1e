//! Counts that are read from the output of `cargo test`.
//!
//! libtest first prints `running 12 tests` and at the end `test result: ok. 12 passed; …`. If a
//! program ends between the two (because of a signal, a sanitizer's report or `abort`), this counts
//! as one failed test. A command that fails without a failed test (a compile error, a leak found at
//! exit) also counts as one failed test.

use std::iter::Sum;
use std::ops::Add;

/// Counts of the checks that passed, failed and were skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The number of checks that passed.
    pub passed: u64,
    /// The number of checks that failed.
    pub failed: u64,
    /// The number of checks that could not run.
    pub skipped: u64,
}

impl Tally {
    /// Returns the counts of a single check, from the exit status of its command.
    #[must_use]
    pub fn of_one_check(succeeded: bool) -> Self {
        Self { passed: u64::from(succeeded), failed: u64::from(!succeeded), skipped: 0 }
    }

    /// Returns the counts of a single check that could not run.
    #[must_use]
    pub fn of_one_skip() -> Self {
        Self { skipped: 1, ..Self::default() }
    }

    /// Returns the counts of tests in the output of a `cargo test`. `succeeded` tells whether the
    /// command succeeded.
    pub fn of_tests(output: &str, succeeded: bool) -> Self {
        let finished: Vec<Self> = output.lines().filter_map(parse_result).collect();
        let started = output.lines().filter(|line| is_announcement(line)).count();
        let mut tally: Self = finished.iter().copied().sum();
        tally.failed += started.saturating_sub(finished.len()) as u64;
        if !succeeded && tally.failed == 0 {
            tally.failed = 1;
        }
        tally
    }

    /// Returns the counts in the last line of a task. `succeeded` tells whether the task succeeded.
    /// A task without such a line counts as failed.
    pub fn of_closing_line(output: &str, succeeded: bool) -> Self {
        let mut tally = output.lines().next_back().and_then(parse_closing_line);
        let failed = |tally: &Self| tally.failed > 0;
        if !succeeded && !tally.as_ref().is_some_and(failed) {
            tally = None;
        }
        tally.unwrap_or(Self::of_one_check(false))
    }
}

impl Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            skipped: self.skipped + other.skipped,
        }
    }
}

impl Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        tallies.fold(Self::default(), Add::add)
    }
}

/// Returns `true` for lines such as `running 12 tests` and `running 1 test`.
fn is_announcement(line: &str) -> bool {
    line.strip_prefix("running ")
        .and_then(|rest| rest.strip_suffix(" tests").or_else(|| rest.strip_suffix(" test")))
        .is_some_and(|count| count.parse::<u64>().is_ok())
}

/// Parses `test result: FAILED. 3 passed; 1 failed; 2 ignored; 0 measured; 5 filtered out; …`.
///
/// Tests that the command line has filtered out are not counted, because they were not requested.
fn parse_result(line: &str) -> Option<Tally> {
    let counts = line.strip_prefix("test result: ")?.split_once(". ")?.1;
    let count = |word: &str| {
        counts.split(';').find_map(|part| part.trim().strip_suffix(word)?.trim().parse().ok())
    };
    Some(Tally { passed: count("passed")?, failed: count("failed")?, skipped: count("ignored")? })
}

/// Parses `3 passed, 1 failed, 2 skipped`.
fn parse_closing_line(line: &str) -> Option<Tally> {
    let counts: Vec<&str> = line.split(", ").collect();
    let [passed, failed, skipped] = counts[..] else { return None };
    let count = |part: &str, word| part.strip_suffix(word)?.trim().parse().ok();
    let (passed, failed) = (count(passed, "passed")?, count(failed, "failed")?);
    Some(Tally { passed, failed, skipped: count(skipped, "skipped")? })
}

#[cfg(test)]
mod tests {
    use super::Tally;

    const TWO_BINARIES: &str = "\
   Compiling pool-core v0.1.0
     Running unittests src/lib.rs (target/debug/deps/pool_core-1)

running 3 tests
test a ... ok
test b ... ok
test c ... ignored

test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s

   Doc-tests pool_core

running 1 test
test crates/pool-core/src/lib.rs - (line 3) ... FAILED

test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 7 filtered out; finished in 0.1s
";

    fn tally(passed: u64, failed: u64, skipped: u64) -> Tally {
        Tally { passed, failed, skipped }
    }

    #[test]
    fn a_closing_line_is_the_last_one() {
        let of = Tally::of_closing_line;
        assert_eq!(of("FAILED: a\n\n3 passed, 1 failed, 2 skipped\n", false), tally(3, 1, 2));
        assert_eq!(of("3 passed, 0 failed, 2 skipped", true), tally(3, 0, 2));
        assert_eq!(of("3 passed, 0 failed, 2 skipped", false), tally(0, 1, 0));
        assert_eq!(of("error: no such crate", false), tally(0, 1, 0));
        assert_eq!(of("", true), tally(0, 1, 0));
    }

    #[test]
    fn sums_every_binary_of_a_run() {
        assert_eq!(Tally::of_tests(TWO_BINARIES, false), tally(2, 1, 1));
    }

    #[test]
    fn a_binary_that_dies_is_a_failure() {
        let output = "running 3 tests\ntest a ... ok\nerror: test failed (signal: 11, SIGSEGV)\n";
        assert_eq!(Tally::of_tests(output, false), tally(0, 1, 0));
        let beside_a_failed_test = format!("{output}{TWO_BINARIES}");
        assert_eq!(Tally::of_tests(&beside_a_failed_test, false), tally(2, 2, 1));
    }

    #[test]
    fn a_leak_after_passing_tests_is_a_failure() {
        let output = "running 1 test\n\
                      test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n\
                      SUMMARY: AddressSanitizer: 100 byte(s) leaked in 1 allocation(s).\n";
        assert_eq!(Tally::of_tests(output, false), tally(1, 1, 0));
        assert_eq!(Tally::of_tests(output, true), tally(1, 0, 0));
    }

    #[test]
    fn a_compile_error_is_a_failure() {
        assert_eq!(Tally::of_tests("error[E0432]: unresolved import\n", false), tally(0, 1, 0));
    }

    #[test]
    fn other_lines_that_start_alike_are_no_results() {
        let output = "running late tests\nrunning 5 teststhe\ntest result: soon\n";
        assert_eq!(Tally::of_tests(output, true), tally(0, 0, 0));
    }

    #[test]
    fn checks_and_skips_count_one_each() {
        let all = [Tally::of_one_check(true), Tally::of_one_check(false), Tally::of_one_skip()];
        assert_eq!(all.into_iter().sum::<Tally>(), tally(1, 1, 1));
    }
}
