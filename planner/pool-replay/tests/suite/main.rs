//! Tests of the CSV files: written files read back, and errors name the place.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "tests: a check that fails panics, and their numbers are small"
)]

#[path = "../support/placed.rs"]
mod placed;

mod files;
mod round_trips;

/// `POOL_TEST_CASES` random files for each property, or 1,000.
fn config() -> proptest::test_runner::Config {
    let given = std::env::var("POOL_TEST_CASES").ok().and_then(|text| text.parse().ok());
    let config = proptest::test_runner::Config::with_cases(given.unwrap_or(1000));
    proptest::test_runner::Config { failure_persistence: None, max_global_rejects: 0, ..config }
}
