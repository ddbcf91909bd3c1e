//! The tasks of the simulator's workspace: run `cargo xtask <task>` in the `sim` directory.

// Layering: a module may import what follows its colon. `cargo xtask imports` checks it, `--list` prints it anew.
//
// clients, lists, simulated: nothing
// test: lists

mod clients;
mod lists;
mod simulated;
mod test;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use cuda_tasks::sim_test;
use tasks::{TaskError, imports, links, quick, steps, words};

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
    /// Run the tests of other people's CUDA crates on the simulated CUDA driver.
    Clients(clients::Arguments),
    /// Check the imports between modules and crates against the layering.
    Imports(imports::Arguments),
    /// Follow every link of the documents.
    Links,
    /// Check what a branch changes, in under two minutes: formatting, lints, unit tests, links.
    Quick(quick::Arguments),
    /// Run the tests that use the simulated CUDA driver, each in its own process.
    SimTest(sim_test::Arguments),
    /// Run every check of the workspace; the last line counts them.
    Test(steps::Arguments),
    /// Check the sentences of comments and documents against the rules of `docs/writing.md`.
    Words(words::Arguments),
}

/// The files whose prose `cargo xtask words` checks in this workspace.
const WORDS: words::Scope<'_> = words::Scope {
    except: &[],
    table: "xtask/words.txt",
    commits_since: None,
    distinct_types_of: &[],
};

fn main() -> ExitCode {
    let outcome: Result<ExitCode, TaskError> = match CommandLine::parse().task {
        Task::Clients(arguments) => clients::run(&arguments),
        Task::Imports(arguments) => imports::run(&arguments, lists::CHECKED),
        Task::Links => links::run(&[]),
        Task::Quick(arguments) => quick::run(&arguments, lists::quick()),
        Task::SimTest(arguments) => sim_test::run(&arguments, &simulated::SUITES),
        Task::Test(arguments) => test::run(&arguments),
        Task::Words(arguments) => words::run(&arguments, &WORDS),
    };
    tasks::finish(outcome)
}
