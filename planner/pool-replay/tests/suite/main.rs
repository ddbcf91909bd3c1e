//! Tests the CSV files: written files can be read back, and errors state their positions.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "a failing test panics, and its numbers are small"
)]

#[path = "../support/placed.rs"]
mod placed;

mod files;
mod round_trips;

/// The number of random files for each property: `POOL_TEST_CASES`, or 1,000 by default.
fn config() -> proptest::test_runner::Config {
    let given = std::env::var("POOL_TEST_CASES").ok().and_then(|text| text.parse().ok());
    let config = proptest::test_runner::Config::with_cases(given.unwrap_or(1000));
    proptest::test_runner::Config { failure_persistence: None, max_global_rejects: 0, ..config }
}
