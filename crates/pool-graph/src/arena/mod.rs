//! The arena of a capture: one buffer, allocated before, from which a capture takes its memory by
//! moving an offset.

mod book;
mod cuda_arena;
#[cfg(feature = "cuda")]
mod installed;
mod live;
#[cfg(feature = "cuda")]
mod mark;
mod plan;
mod policy;
mod region;
mod shared;
mod stats;

pub use cuda_arena::CudaArena;
#[cfg(feature = "cuda")]
pub(crate) use mark::ArenaMark;
pub use plan::{ArenaPlan, ArenaPlanError, Divergence};
pub use policy::ArenaPolicy;
pub use region::{ArenaRegion, Ended};
pub(crate) use shared::ArenaShared;
pub use stats::ArenaStats;
