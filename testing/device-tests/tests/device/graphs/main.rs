//! Tests graph memory on any device: on hardware under `cargo xtask gpu-test`, and on the simulated
//! driver under `cargo xtask sim-test`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a failing test panics")]

#[path = "../../../../../crates/pool-graph/tests/cases/mod.rs"]
mod cases;

#[path = "../../../../../crates/pool-plan/tests/support/capture.rs"]
#[allow(dead_code, reason = "only the planner's tests use its problems")]
mod generator;

mod attacks;
mod captures;
mod failures;
mod feeding;
mod graphs;
mod kept;
mod mutations;
mod opened;
mod others;
mod planned;
mod programs;
mod retries;
mod scope_limits;
mod scopes;
mod shared_cases;
mod steps;
mod strict_captures;
mod updates;

use driver_conformance::driver::Device;
use pool_cuda::Cuda;
use pool_graph::DeviceMemory;

/// Returns the first device's memory.
fn memory() -> DeviceMemory {
    DeviceMemory::new(&Cuda::device(0).unwrap())
}

/// Opens the device and keeps it open for a test.
fn require_device() -> Device {
    driver_conformance::open().unwrap_or_else(|why| panic!("GPU REQUIRED: {why}"))
}
