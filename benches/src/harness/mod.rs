//! The harness: interleaved batches, thread CPU time, faults, heap allocations, and the runs for
//! callgrind. A binary of this package is one allocator around [`run`].

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

/// The command line of a binary of this package. Results go to the standard output, as JSON.
#[derive(Debug, Parser)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Time the cases that can share a process, in interleaved batches.
    Time {
        /// Batches of each case.
        #[arg(long, default_value_t = 61)]
        batches: u32,
        /// About how long a batch takes, in microseconds.
        #[arg(long, default_value_t = 1_000)]
        batch_time: u32,
        /// Only the cases whose column is one of these.
        #[arg(long)]
        column: Vec<String>,
        /// Only the cases of this workload.
        #[arg(long)]
        workload: Option<String>,
    },
    /// Time one of the large cases in this process.
    Large {
        /// Its number.
        case: usize,
        /// Scopes to time.
        #[arg(long, default_value_t = 15)]
        passes: u32,
    },
    /// Print the number of large cases.
    LargeCases,
    /// Time the cases of two threads.
    Threads {
        /// Batches of each case.
        #[arg(long, default_value_t = 61)]
        batches: u32,
    },
    /// Count heap allocations; only the binary that counts can.
    Allocations,
    /// Print the memory that is held when lengths vary.
    Held,
    /// Run each case for callgrind to watch.
    Watched,
}

/// Runs the command of this process. `counts` is `true` if its allocator counts.
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
