//! The tasks that `cargo xtask adopt`, `demo` and `encode` run.
//!
//! They are a separate program, so the other tasks are built without them.

// Layering: a module may import what follows its colon. `cargo xtask imports` checks it, `--list` prints it anew.
//
// adopt, demo, progress: nothing
// encode: progress

mod adopt;
mod demo;
mod encode;
mod progress;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tasks::TaskError;

/// The command line.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about, version)]
struct CommandLine {
    #[command(subcommand)]
    task: Task,
}

/// The tasks of the showcases.
#[derive(Debug, Subcommand)]
enum Task {
    /// Add a pool to other people's crates, run the crates' own tests, and measure before and
    /// after.
    Adopt(adopt::Arguments),
    /// Run two real workloads with and without a pool, and print the differences.
    Demo(demo::Arguments),
    /// Encode sentences with a model that runs in pools, and print how similar the sentences are.
    Encode(encode::Arguments),
}

fn main() -> ExitCode {
    let outcome: Result<ExitCode, TaskError> = match CommandLine::parse().task {
        Task::Adopt(arguments) => adopt::run(&arguments),
        Task::Demo(arguments) => demo::run(&arguments),
        Task::Encode(arguments) => encode::run(&arguments),
    };
    tasks::finish(outcome)
}
