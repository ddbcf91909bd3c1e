//! The sources of temporaries, one per file.

#[cfg(feature = "bump-scope")]
mod arena;
pub mod heap;
pub mod kept;
#[cfg(feature = "wgpu")]
pub mod on_wgpu;
mod pooled;
