//! The `pool-plan` command. The command plans a file, prints the quality of the plan, and writes or
//! draws the plan. It also replays and exports the logs of allocators.

// Layering: each module may import only the modules that are listed after its colon.
// `cargo xtask imports` checks this list, and `cargo xtask imports --list` prints it.
//
// arguments, file, open, printable: nothing
// output: printable
// export: arguments, file, open, output
// replay: arguments, open, output, printable
// solve: arguments, output, printable

mod arguments;
mod export;
mod file;
mod open;
mod output;
mod printable;
mod replay;
mod solve;

use std::process::ExitCode;

use clap::Parser;

use arguments::{CommandLine, Task};

fn main() -> ExitCode {
    match CommandLine::parse().task {
        Task::Solve(arguments) => solve::run(&arguments),
        Task::Export(arguments) => export::run(&arguments),
        Task::Replay(arguments) => replay::run(&arguments),
    }
}
