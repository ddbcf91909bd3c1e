//! The tasks of the showcases, which `cargo xtask adopt`, `demo` and `encode` start.
//!
//! They are a program of their own, so that the other tasks are built without them.

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
    /// Put a pool into other people's crates, run their own tests, and measure them before and after.
    Adopt(adopt::Arguments),
    /// Run two real workloads with and without a pool, and print the differences.
    Demo(demo::Arguments),
    /// Encode sentences with a model that runs in pools, and print how similar they are.
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
