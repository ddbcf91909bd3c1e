//! A stream of frames, as a camera's program processes it. A frame is decoded, cleaned, made a
//! pyramid, searched for edges and for motion, and composed again. The ways differ in the source of
//! the temporaries: a pool, `Vec`, an arena, buffers kept by hand, or for some steps a wgpu device.
//! The arithmetic is the same code, so every way makes the same pictures.
//!
//! [`frame()`] is the whole program for all ways but the kept buffers, generic over [`Scratch`];
//! [`ways::kept`] is the same by hand. The rest makes the frames out of a photograph, and measures.

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
mod steps;
pub mod ways;

pub use camera::Camera;
pub use commands::main;
pub use film::Film;
pub use frame::frame;
pub use lane::{Lane, Way};
pub use plane::Plane;
pub use record::Record;
pub use scratch::{Sample, Scratch};
pub use size::Size;

/// Any failure, from a missing file to a frame that cannot be decoded.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;
