//! Tests the `pool-plan` command in the way that a user runs it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "a failing test panics, and its numbers are small"
)]

#[path = "../../../../crates/pool-plan/tests/support/capture.rs"]
#[allow(dead_code, reason = "the solver's tests have other settings")]
mod capture;
#[path = "../../../../crates/pool-plan/tests/support/held_out.rs"]
#[allow(dead_code, reason = "one family is enough here")]
mod held_out;
#[path = "../../../pool-replay/tests/support/placed.rs"]
mod placed;

mod attacks;
mod command;
mod interrupt;
mod memories;
mod memory;
mod memory_viz;
mod odd;
mod outside;
mod page;
mod records;
mod replay;
mod reported;
mod round_trips;
mod trace_events;
mod unfinished;

/// Returns the number of random problems for each property: `POOL_TEST_CASES`, or 1,000 by default.
fn cases() -> u32 {
    let given = std::env::var("POOL_TEST_CASES");
    given.ok().and_then(|text| text.parse().ok()).unwrap_or(1000)
}
