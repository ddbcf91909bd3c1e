//! The tasks of the planner's workspace: `cargo xtask <task>`, in the `planner` directory.

mod features;
mod test;
mod wheel;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tasks::imports::Crate;
use tasks::{TaskError, imports, links, quick, steps, words};

/// The crates whose modules are checked against their layering.
const CRATES: &[Crate<'_>] = &[
    Crate { name: "pool-replay", root: "pool-replay/src/lib.rs" },
    Crate { name: "pool-plan-cli", root: "pool-plan-cli/src/main.rs" },
];

/// The command line of `cargo xtask`.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about, version)]
struct CommandLine {
    #[command(subcommand)]
    task: Task,
}

/// The tasks of this workspace.
#[derive(Debug, Subcommand)]
enum Task {
    /// Check the imports between modules and crates against the layering.
    Imports(imports::Arguments),
    /// Check every link in the documents.
    Links,
    /// Check the files that a branch changes, in under two minutes: formatting, lints, unit tests,
    /// links.
    Quick(quick::Arguments),
    /// Run every check of the workspace. The last line counts the checks.
    Test(steps::Arguments),
    /// Build the Python wheel, install it into its own environment, and test it there.
    Wheel,
    /// Check the sentences in comments and documents against the rules of `docs/writing.md`.
    Words(words::Arguments),
}

/// The prose that `cargo xtask words` checks here.
const WORDS: words::Scope<'_> = words::Scope {
    except: &[],
    table: "xtask/words.txt",
    commits_since: None,
    distinct_types_of: &[],
};

fn main() -> ExitCode {
    let outcome: Result<ExitCode, TaskError> = match CommandLine::parse().task {
        Task::Imports(arguments) => imports::run(&arguments, CRATES),
        Task::Links => links::run(&[]),
        Task::Quick(arguments) => quick::run(&arguments, features::quick()),
        Task::Test(arguments) => test::run(&arguments),
        Task::Wheel => wheel::run(),
        Task::Words(arguments) => words::run(&arguments, &WORDS),
    };
    tasks::finish(outcome)
}
