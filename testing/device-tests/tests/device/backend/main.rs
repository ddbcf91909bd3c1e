//! Tests the backend on any device: on hardware under `cargo xtask gpu-test`, and on the simulated
//! driver under `cargo xtask sim-test`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failing test panics")]

mod conformance;
mod owned;
mod streams;

/// Opens the device and keeps it open for a test.
fn require_device() -> driver_conformance::driver::Device {
    driver_conformance::open().unwrap_or_else(|why| panic!("GPU REQUIRED: {why}"))
}
