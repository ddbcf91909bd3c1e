//! Questions that run in a child process because they may crash it. A crash is also an observation.

use std::process::Command;

use crate::answers::Answer;
use crate::driver::{Outcome, Refusal};

/// The variable that marks a process as the child.
const CHILD_VARIABLE: &str = "DRIVER_CONFORMANCE_CHILD";
/// The start of the line on which the child prints its observation.
const SAW: &str = "the child saw: ";
/// The start of the line that the child prints if the driver lacks a call.
const LACKS: &str = "the child lacks: ";

/// How a child ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The child ended with this observation.
    Saw(String),
    /// The child failed because the driver lacks a call.
    Lacks(String),
    /// The child crashed.
    Died(String),
    /// The child could not be started.
    NotStarted(String),
}

/// Runs the body in a child process, and returns the observation or the crash.
///
/// `test` is the full name of the calling test. The child runs that test again, and the body only
/// runs in the child. The child therefore also runs everything that the test does before this call.
pub fn in_a_child(test: &str, body: impl FnOnce() -> Outcome<Answer>) -> Fate {
    if std::env::var_os(CHILD_VARIABLE).is_some() {
        match body() {
            Ok(answer) => println!("\n{SAW}{answer}"),
            Err(missing @ Refusal::Missing(_)) => println!("\n{LACKS}{missing}"),
            Err(refused) => println!("\n{SAW}{refused} while preparing"),
        }
        std::process::exit(0);
    }
    let start = || {
        let program = std::env::current_exe()?;
        let mut child = Command::new(program);
        child.args(["--exact", test, "--ignored", "--nocapture", "--test-threads", "1"]);
        child.env(CHILD_VARIABLE, "1").output()
    };
    match start() {
        Ok(output) => fate(&String::from_utf8_lossy(&output.stdout), &output.status.to_string()),
        Err(error) => Fate::NotStarted(error.to_string()),
    }
}

fn fate(output: &str, status: &str) -> Fate {
    let said = |mark| output.lines().find_map(|line| line.strip_prefix(mark)).map(str::to_owned);
    said(SAW)
        .map(Fate::Saw)
        .or_else(|| said(LACKS).map(Fate::Lacks))
        .unwrap_or_else(|| Fate::Died(status.to_owned()))
}

impl From<Fate> for Answer {
    fn from(fate: Fate) -> Self {
        match fate {
            Fate::Saw(said) | Fate::Lacks(said) => said.into(),
            Fate::Died(status) => format!("the process died: {status}").into(),
            Fate::NotStarted(why) => format!("the process could not be started: {why}").into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Fate, fate};

    #[test]
    fn the_last_word_or_the_way_of_dying() {
        let output = "running 1 test\n\nthe child saw: 400 INVALID_HANDLE\n";
        assert_eq!(fate(output, "exit status: 0"), Fate::Saw("400 INVALID_HANDLE".to_owned()));
        let output = "\nthe child lacks: the driver has no cuTurbo\n";
        assert_eq!(
            fate(output, "exit status: 0"),
            Fate::Lacks("the driver has no cuTurbo".to_owned())
        );
        assert_eq!(fate("running 1 test\n", "signal: 11"), Fate::Died("signal: 11".to_owned()));
    }
}
