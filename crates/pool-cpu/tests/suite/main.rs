//! The integration tests of host memory: what every backend passes, `ndarray` views, and steady state
//! without an allocation.

#![allow(clippy::expect_used, reason = "a check that fails panics, also in what the tests share")]

mod any_copy;
#[cfg(feature = "ndarray")]
mod arrays;
mod blocks;
mod conformance;
#[cfg(all(target_os = "linux", not(miri)))]
mod discards;
#[cfg(feature = "ndarray")]
mod dynamic_arrays;
#[cfg(feature = "ndarray")]
mod header_attacks;
mod mem_stack;
#[cfg(feature = "ndarray")]
mod shaped_arrays;
