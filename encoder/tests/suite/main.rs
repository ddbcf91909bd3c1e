//! The encoder with a tiny model, on each backend that is built, beside what an independent program computes.

#![allow(clippy::unwrap_used, reason = "tests: a check that fails panics")]

mod any_backend;
mod golden;
mod host;
#[cfg(feature = "wgpu")]
mod wgpu;
