//! Every kernel compared with a reference in double precision, on random shapes.
//!
//! Each test needs a device and a separate process. `cargo xtask sim-test` runs them on the
//! simulated driver, which also checks every access, and `cargo xtask gpu-test` on hardware.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failing test panics")]

mod bounds;
mod cases;
mod conjugate_gradient;
mod element;
mod elementwise;
mod gather;
mod gpu;
mod matrix;
mod ratio;
mod reduction;
mod rows;
mod sparse;
