//! The encoder with a tiny model, on each backend that is built, beside what an independent program computes.

mod any_backend;
mod golden;
mod host;
#[cfg(feature = "wgpu")]
mod wgpu;
