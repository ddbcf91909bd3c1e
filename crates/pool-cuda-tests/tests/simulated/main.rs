//! `pool-cuda` on the simulated driver, whose checkers watch for races, stale addresses and leaks.
//!
//! Each test needs a process of its own: `cargo xtask sim-test` runs them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "this is how tests fail"
)]

mod conformance;
mod contents;
mod faults;
mod foreign;
mod graphs;
mod lifetimes;
#[path = "../../../pool-graph-tests/tests/device/programs.rs"]
mod programs;
mod refusals;
mod steady;
mod support;
mod threads;
mod views;
