//! The backend on any device: hardware under `cargo xtask gpu-test`, the simulated driver under
//! `cargo xtask sim-test`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod conformance;
mod streams;

/// Holds the device open for a test.
fn require_device() -> driver_conformance::driver::Device {
    driver_conformance::open().unwrap_or_else(|why| panic!("GPU REQUIRED: {why}"))
}
