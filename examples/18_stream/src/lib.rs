//! A stream of frames, processed as a camera's program would do it. Each frame is decoded and
//! cleaned, a pyramid is built from it, edges and motion are detected, and the result is composed.
//! The versions differ in the source of their temporaries: a pool, `Vec`, an arena, buffers kept by
//! hand, or for some steps a wgpu device. All versions share the arithmetic, so they produce the
//! same pictures.
//!
//! [`frame()`] is the whole program, generic over [`Scratch`]. It serves all versions except the
//! kept buffers, for which [`sources::kept`] does the same by hand. The other modules create the
//! frames from a photograph, and measure.

mod camera;
mod churn;
#[path = "../../../benches/src/harness/clock.rs"]
pub mod clock;
mod commands;
mod film;
mod frame;
pub mod heap;
mod lane;
mod picture;
mod plane;
mod record;
mod resident;
mod scratch;
mod serve;
mod size;
pub mod sources;
mod steps;

pub use camera::Camera;
pub use commands::main;
pub use film::Film;
pub use frame::frame;
pub use lane::{Lane, TemporarySource};
pub use plane::Plane;
pub use record::Record;
pub use scratch::{Sample, Scratch};
pub use size::Size;

/// Any failure, from a missing file to a frame that cannot be decoded.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
