//! The wgpu backend on any available adapter: the conformance tests of every backend, bytes, order,
//! faults. Without an adapter, each test prints `SKIPPED`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "tests"
)]

mod apart;
mod bytes;
mod callbacks;
mod conformance;
mod endings;
mod faults;
mod fuzz;
mod kernels;
mod limits;
mod lost;
mod misuse;
mod opening;
mod reading;
mod reentrancy;
mod support;
mod thread_streams;
