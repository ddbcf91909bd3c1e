//! The backend on whatever device there is: hardware under `cargo xtask gpu-test`, the simulated driver
//! under `cargo xtask sim-test`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod conformance;
mod streams;
