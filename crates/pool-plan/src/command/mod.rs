//! The command `pool-plan`: plans a file, says how good the plan is, and writes or draws it; and replays and exports
//! the logs of allocators.

mod arguments;
mod export;
mod files;
mod output;
mod printable;
mod replay;
mod report;
mod solve;
mod svg;

use std::process::ExitCode;

use clap::Parser;

use arguments::{CommandLine, Task};

/// Runs the command with the arguments of the process.
#[must_use]
pub fn main() -> ExitCode {
    match CommandLine::parse().task {
        Task::Solve(arguments) => solve::run(&arguments),
        Task::Export(arguments) => export::run(&arguments),
        Task::Replay(arguments) => replay::run(&arguments),
    }
}
