//! The encoder with a tiny model, on each backend that is built, compared with an independent
//! program.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failing test panics")]

mod any_backend;
mod faults;
mod golden;
mod host;
mod naive;
mod operations;
#[cfg(feature = "wgpu")]
mod wgpu;

/// Returns the number of random shapes of each operation: one for `one_of` of `POOL_TEST_CASES`, by
/// default 2,000.
fn cases(one_of: u32) -> u32 {
    let given = std::env::var("POOL_TEST_CASES").ok();
    let count = given.map_or(2_000, |count| count.parse::<u32>().unwrap());
    count.div_ceil(one_of)
}
