//! Asking in a child process what may crash it: the crash is an answer.

use std::process::Command;

use crate::answers::Answer;
use crate::driver::{Outcome, Refusal};

/// The variable that tells a process that it is the child.
const CHILD_VARIABLE: &str = "DRIVER_CONFORMANCE_CHILD";
/// What the child's line starts with when it could ask.
const SAW: &str = "the child saw: ";
/// What it starts with when the driver lacks a call.
const LACKS: &str = "the child lacks: ";

/// How a child ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It came to the end and said this.
    Saw(String),
    /// It could not ask: the driver lacks a call.
    Lacks(String),
    /// It came to no end.
    Died(String),
    /// It could not be started.
    NotStarted(String),
}

/// Runs the body in a process of its own and tells what it saw or how it died.
///
/// `test` is the whole name of the test that calls this, and the body is run by a second run of that
/// test: whatever the test does before this call happens in the child too.
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
            Fate::NotStarted(why) => format!("no process could be started: {why}").into(),
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
