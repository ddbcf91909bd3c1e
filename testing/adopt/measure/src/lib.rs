//! Measures versions of the same work beside each other: the crate as its authors wrote it, and as our patches
//! make it. A program of `testing/adopt` describes its [`Case`]s and hands them to [`run`], which first holds
//! their results against each other, bit by bit, then times them in turns, and counts what one call asks the heap
//! for. `cargo xtask adopt` starts the programs and reads the records that they print.

#[path = "../../../../benches/src/harness/clock.rs"]
#[allow(dead_code, reason = "page faults are the business of another task")]
mod clock;
#[path = "../../../../demo/src/heap.rs"]
#[allow(dead_code, reason = "the demo also asks for peaks")]
mod heap;
mod record;
mod rounds;

use std::process::ExitCode;

pub use rounds::{Case, Plan};

/// Prints the most memory that a process of its own had in use, which did the work of a version.
pub fn print_peak(version: &str, kibibytes: u64) {
    println!("{}", record::Peak { version: version.to_owned(), kibibytes });
}

/// Measures all cases and prints a record for each version of each.
///
/// Of the program's arguments it reads one: `--quick` takes fewer and shorter batches.
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
