//! The arena of a capture: a single buffer, allocated in advance. A capture allocates from it by
//! moving an offset.

mod book;
mod cuda_arena;
mod live_regions;
#[cfg(feature = "cuda")]
mod mark;
mod plan;
mod policy;
mod region;
mod shared;
mod stats;
#[cfg(feature = "cuda")]
mod stream_arenas;

pub use cuda_arena::CudaArena;
#[cfg(feature = "cuda")]
pub(crate) use mark::ArenaMark;
pub use plan::{ArenaPlan, ArenaPlanError, Divergence};
pub use policy::ArenaPolicy;
pub use region::{ArenaRegion, Deallocation};
pub(crate) use shared::ArenaShared;
pub use stats::ArenaStats;
