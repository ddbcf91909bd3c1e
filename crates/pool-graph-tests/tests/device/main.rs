//! Graph memory on whatever device there is: hardware under `cargo xtask gpu-test`, the simulated
//! driver under `cargo xtask sim-test`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests: a check that fails panics"
)]

#[path = "../../../pool-graph/tests/cases/mod.rs"]
mod cases;

mod attacks;
mod captures;
mod graphs;
mod planned;
mod programs;
mod shared_cases;

use driver_conformance::driver::Device;
use pool_cuda::Cuda;
use pool_graph::DeviceMemory;

/// The first device's memory.
fn memory() -> DeviceMemory {
    DeviceMemory::new(&Cuda::device(0).unwrap())
}

/// The device, opened for a test that is no question.
fn require_device() -> Device {
    driver_conformance::open().unwrap_or_else(|why| panic!("GPU REQUIRED: {why}"))
}
