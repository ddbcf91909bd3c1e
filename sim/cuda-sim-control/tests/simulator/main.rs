//! Tests the simulated driver, through unmodified cudarc and through single calls.
//!
//! Each test needs its own process, so `cargo xtask sim-test` runs them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failing test panics")]

mod between;
mod child_graphs;
mod cudarc_api;
mod doubtful;
mod faults;
mod graphs;
mod host_functions;
mod hostile;
mod kernels;
mod mistakes;
mod program;
mod programs;
mod refusals;
mod rows;
mod settings;
mod support;
mod updates;
