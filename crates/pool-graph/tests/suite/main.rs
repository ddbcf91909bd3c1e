//! Tests of the pool and the arena on synthetic addresses.

#![cfg(not(loom))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "tests: a check that fails panics, and their numbers are small"
)]

#[path = "../cases/mod.rs"]
mod cases;

mod advice;
mod arena;
mod attacks;
mod faults;
mod leases;
mod limits;
mod plans;
mod random_programs;
mod reentry;
mod reports;
mod shared_cases;
mod verifier;
mod verifier_reference;
mod waiting;
