//! The harness: interleaved batches, thread CPU time, page faults, heap allocations, and runs under
//! callgrind. Each binary of this package combines one allocator with [`run`].

mod batches;
pub mod clock;
pub mod heap;
pub mod threads;
mod watched;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use serde::Serialize;

use crate::workloads;
pub use batches::{Plan, time_in_turns};

/// The command line of this package's binaries. Results are printed to the standard output, as
/// JSON.
#[derive(Debug, Parser)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Time the cases that can share a process, in interleaved batches.
    Time {
        /// The number of batches for each case.
        #[arg(long, default_value_t = 61)]
        batches: u32,
        /// The approximate duration of a batch, in microseconds.
        #[arg(long, default_value_t = 1_000)]
        batch_time: u32,
        /// Run only the cases of these columns.
        #[arg(long)]
        column: Vec<String>,
        /// Run only the cases of this workload.
        #[arg(long)]
        workload: Option<String>,
    },
    /// Time one of the large cases in this process.
    Large {
        /// The number of the case.
        case: usize,
        /// The number of scopes to time.
        #[arg(long, default_value_t = 15)]
        passes: u32,
    },
    /// Print the number of large cases.
    LargeCases,
    /// Time the cases that use two threads.
    Threads {
        /// The number of batches for each case.
        #[arg(long, default_value_t = 61)]
        batches: u32,
    },
    /// Count heap allocations. Only the counting binary supports this command.
    Allocations,
    /// Print the memory held when lengths vary.
    Held,
    /// Run each case under callgrind.
    Watched,
}

/// Runs the command given on the command line. `counts` is `true` if this binary's allocator counts
/// requests.
#[must_use]
pub fn run(counts: bool) -> ExitCode {
    match CommandLine::parse().command {
        Command::Time { batches, batch_time, column, workload } => {
            let mut cases = workloads::cases();
            cases.retain(|case| column.is_empty() || column.iter().any(|one| one == case.column));
            cases.retain(|case| workload.as_deref().is_none_or(|one| one == case.workload));
            print(&time_in_turns(
                &cases,
                Plan { batches, batch_time: u64::from(batch_time) * 1_000 },
            ))
        }
        Command::Large { case, passes } => match workloads::large::cases().get(case) {
            Some(case) => print(&batches::time_alone(case, passes)),
            None => ExitCode::FAILURE,
        },
        Command::LargeCases => print(&workloads::large::cases().len()),
        Command::Threads { batches } => print(&threads::measure(batches)),
        Command::Allocations if counts => print(&heap::count(&workloads::cases())),
        Command::Allocations => ExitCode::FAILURE,
        Command::Held => print(&workloads::held::measure()),
        Command::Watched => watched::run(&workloads::cases()),
    }
}

fn print(records: &impl Serialize) -> ExitCode {
    match serde_json::to_string(records) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
