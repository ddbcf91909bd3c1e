//! Pools in a browser, for the page in this folder (`cargo xtask web`). The page shows a video
//! filter on WebGPU, with a pool and with buffers that each frame creates; a heat equation to draw
//! into; and a filter on the host, with `Pool<Cpu>` and with `Vec`.
//!
//! The film and the host's filter use integer arithmetic, so that they produce the same bits on
//! every machine.

// Layering: each module may import only the modules after its colon. `cargo xtask imports` checks
// this, and `--list` prints the list.
//
// device, film, host: nothing
// created, heat, pooled: device
// smooth: device, film, host
// video: created, device, pooled
// page: film, host

#[cfg(target_arch = "wasm32")]
mod created;
#[cfg(target_arch = "wasm32")]
pub mod device;
pub mod film;
#[cfg(target_arch = "wasm32")]
#[path = "../../17_video_filter/filter.rs"]
#[allow(dead_code, reason = "example 17 measures with it")]
mod filter;
#[cfg(target_arch = "wasm32")]
#[path = "../../17_video_filter/frame_objects.rs"]
#[allow(dead_code, reason = "example 17 waits for the device")]
mod frame_objects;
#[cfg(target_arch = "wasm32")]
pub mod heat;
pub mod host;
#[cfg(target_arch = "wasm32")]
pub mod page;
#[cfg(target_arch = "wasm32")]
mod pooled;
#[cfg(target_arch = "wasm32")]
pub mod smooth;
#[cfg(target_arch = "wasm32")]
pub mod video;
