//! Tests `pool-cuda` on the simulated driver, whose checkers detect races, stale addresses and
//! leaks.
//!
//! Each test needs its own process: `cargo xtask sim-test` runs them.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failing test panics")]

mod attack_four;
mod captures;
mod conformance;
mod contents;
mod contexts;
mod dlpack;
mod facade;
mod failed_order;
mod failed_order_sweep;
mod faults;
mod foreign;
mod hostile;
mod launches;
mod lifetimes;
mod owned;
mod peers;
mod random;
mod reclaim;
mod refusals;
mod shrink;
mod stacks;
mod steady;
mod subscribers;
mod support;
#[path = "../sweep.rs"]
mod sweep;
mod threads;
mod unknown_streams;
mod views;
