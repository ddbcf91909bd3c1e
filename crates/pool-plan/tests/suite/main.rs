//! Tests of the planner: against brute force, on public traces, on random captures, with mutated
//! plans, bad input and the command.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "tests: a check that fails panics, and their numbers are small"
)]

#[path = "../support/capture.rs"]
mod capture;
#[path = "../support/synthetic.rs"]
mod synthetic;

mod brute;
mod captures;
#[cfg(feature = "cli")]
mod command;
mod errors;
mod files;
mod generated;
mod mutations;
mod optimum;
mod solving;
mod traces;

/// How many random problems a property is tried on: `POOL_TEST_CASES`, or 1,000.
fn cases() -> u32 {
    let given = std::env::var("POOL_TEST_CASES");
    given.ok().and_then(|text| text.parse().ok()).unwrap_or(1000)
}

fn config() -> proptest::test_runner::Config {
    let config = proptest::test_runner::Config::with_cases(cases());
    // No property rejects what is generated for it, so every case counts.
    proptest::test_runner::Config { failure_persistence: None, max_global_rejects: 0, ..config }
}
