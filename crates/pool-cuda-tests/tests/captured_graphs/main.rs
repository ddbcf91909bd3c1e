//! Captured graphs on the simulated driver, whose checkers watch for races, stale addresses and leaks.
//!
//! Each test needs a process of its own: `cargo xtask sim-test` runs them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "this is how tests fail"
)]

mod attacks;
mod cases;
mod programmatic;

#[path = "../../../pool-graph-tests/tests/device/programs.rs"]
mod programs;
#[path = "../simulated/support.rs"]
#[allow(dead_code, reason = "what the other tests need is in it, too")]
mod support;
