//! Named assertions, which print one line each and are counted.

use std::fmt;
use std::process::ExitCode;

/// Counts of the assertions that have passed, failed and been skipped so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checks {
    passed: usize,
    failed: usize,
    skipped: usize,
}

/// The outcome of an assertion: success, or the reason why it failed.
pub type Outcome = Result<(), String>;

impl Checks {
    /// Prints and counts an assertion.
    pub fn that(&mut self, name: &str, held: Outcome) {
        match held {
            Ok(()) => {
                self.passed += 1;
                println!("ok: {name}");
            }
            Err(why) => {
                self.failed += 1;
                println!("FAILED: {name}: {why}");
            }
        }
    }

    /// Counts an assertion that cannot be checked on this machine.
    pub fn skip(&mut self, name: &str, why: &str) {
        self.skipped += 1;
        println!("SKIPPED: {name}: {why}");
    }

    /// Returns the exit code of a task. It is a failure if any assertion failed or if none passed.
    #[must_use]
    pub fn exit_code(self) -> ExitCode {
        if self.failed == 0 && self.passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// Like [`exit_code`](Self::exit_code), but a run in which every assertion was skipped
    /// succeeds.
    #[must_use]
    pub fn exit_code_of_optional(self) -> ExitCode {
        let all_skipped = self.passed + self.failed == 0 && self.skipped > 0;
        if all_skipped { ExitCode::SUCCESS } else { self.exit_code() }
    }
}

/// Formats the last line of a task.
impl fmt::Display for Checks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, skipped } = self;
        write!(formatter, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

/// Checks that two values are equal.
///
/// # Errors
///
/// If they differ, returns a text that contains both values.
pub fn same<T: PartialEq + fmt::Debug>(found: &T, expected: &T) -> Outcome {
    if found == expected { Ok(()) } else { Err(format!("{found:?} instead of {expected:?}")) }
}

/// Checks that a text contains another text.
///
/// # Errors
///
/// If it does not, returns a text that contains both.
pub fn says(text: &str, part: &str) -> Outcome {
    if text.contains(part) { Ok(()) } else { Err(format!("{part:?} is not in {text:?}")) }
}
