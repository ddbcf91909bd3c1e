//! Compares versions of the same work: the original crate, and the crate with our patches. A program of `testing/adopt`
//! describes its [`Case`]s and passes them to [`run`]. [`run`] compares their results bit by bit, times them in turns,
//! and counts the heap requests of one call. `cargo xtask adopt` starts the programs and reads their records.

#[path = "../../../../benches/src/harness/clock.rs"]
#[allow(dead_code, reason = "another task measures page faults")]
mod clock;
#[path = "../../../../demo/src/heap.rs"]
#[allow(dead_code, reason = "the demo also measures peaks")]
mod heap;
mod peaks;
mod record;
mod rounds;

use std::process::ExitCode;

pub use peaks::measure_peaks;
pub use rounds::{Case, Plan};

/// Measures all cases and prints a record for each version of each.
///
/// Reads one argument of the program: `--quick` runs fewer and shorter batches.
pub fn run(cases: Vec<Case<'_>>) -> ExitCode {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let plan = if quick { Plan::QUICK } else { Plan::WHOLE };
    for mut case in cases {
        if let Err(difference) = case.compare() {
            eprintln!("error: {difference}");
            return ExitCode::FAILURE;
        }
        for record in case.measure(plan) {
            println!("{record}");
        }
    }
    ExitCode::SUCCESS
}
