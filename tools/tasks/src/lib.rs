//! The parts of `cargo xtask` that do not depend on the crates of a particular workspace.
//!
//! The repository contains several workspaces, each with its own `xtask`. An `xtask` lists its
//! steps, feature sets and crates. This crate runs [`steps`] and counts them, prints named
//! [`checks`], follows [`links`], and compares [`imports`] with the tables of the workspace.
//! [`words`] checks comments and documents. [`loops`] finds loops that are not counted. [`quick`]
//! checks what a branch changes: its [`changes`], and the affected [`crates`].

// Layering: a module may import what follows its colon. `cargo xtask imports` checks it, `--list` prints it anew.
//
// changes, checks, features, files, loops, programs, tally, toolchains, workspace: nothing
// crates: changes, workspace
// imports: checks, workspace
// links: checks, programs, workspace
// words: checks, imports, programs, workspace
// source: programs
// steps: changes, tally, workspace
// quick: changes, crates, steps, workspace

pub mod changes;
pub mod checks;
pub mod crates;
pub mod features;
pub mod files;
pub mod imports;
pub mod links;
pub mod loops;
pub mod programs;
pub mod quick;
pub mod source;
pub mod steps;
pub mod tally;
pub mod toolchains;
pub mod words;
pub mod workspace;

use std::fmt::Write as _;
use std::process::ExitCode;

/// The reason why a task failed, as a text for the person who started the task.
pub type TaskError = Box<dyn std::error::Error>;

/// Ends a task. If it failed, prints the error with its sources. Returns the exit code of the
/// process.
#[must_use]
pub fn finish(outcome: Result<ExitCode, TaskError>) -> ExitCode {
    outcome.unwrap_or_else(|error| {
        eprintln!("error: {}", chain(&*error));
        ExitCode::FAILURE
    })
}

/// Formats an error and its sources on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        // Writing to a string cannot fail.
        let _ = write!(text, ": {error}");
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::chain;

    #[derive(Debug)]
    struct Outer(io::Error);

    impl std::fmt::Display for Outer {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("the file cannot be read")
        }
    }

    impl std::error::Error for Outer {
        fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
            Some(&self.0)
        }
    }

    #[test]
    fn an_error_is_printed_with_its_sources() {
        assert_eq!(chain(&Outer(io::Error::other("no disk"))), "the file cannot be read: no disk");
    }
}
