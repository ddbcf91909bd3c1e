//! Assertions by name: one line each, counted.

use std::fmt;
use std::process::ExitCode;

/// The counts of assertions so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checks {
    passed: usize,
    failed: usize,
    skipped: usize,
}

/// The outcome of an assertion: success, or the reason of the failure.
pub type Outcome = Result<(), String>;

impl Checks {
    /// Counts an assertion.
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

    /// Counts one that cannot be made here.
    pub fn skip(&mut self, name: &str, why: &str) {
        self.skipped += 1;
        println!("SKIPPED: {name}: {why}");
    }

    /// The exit code of a task: a failure where one failed, or none passed.
    #[must_use]
    pub fn exit_code(self) -> ExitCode {
        if self.failed == 0 && self.passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// Same as [`exit_code`](Self::exit_code), but a run in which everything was skipped succeeds.
    #[must_use]
    pub fn exit_code_of_optional(self) -> ExitCode {
        let all_skipped = self.passed + self.failed == 0 && self.skipped > 0;
        if all_skipped { ExitCode::SUCCESS } else { self.exit_code() }
    }
}

/// The closing line.
impl fmt::Display for Checks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { passed, failed, skipped } = self;
        write!(formatter, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}

/// Asserts that two things are the same.
///
/// # Errors
///
/// Both of them in words, where they differ.
pub fn same<T: PartialEq + fmt::Debug>(found: &T, expected: &T) -> Outcome {
    if found == expected { Ok(()) } else { Err(format!("{found:?} instead of {expected:?}")) }
}

/// Asserts that a text contains another one.
///
/// # Errors
///
/// Both texts, if the part is missing.
pub fn says(text: &str, part: &str) -> Outcome {
    if text.contains(part) { Ok(()) } else { Err(format!("{part:?} is not in {text:?}")) }
}
