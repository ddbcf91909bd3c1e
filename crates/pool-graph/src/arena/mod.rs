//! Arenas for captures. An arena is a single buffer allocated before the capture begins. The
//! capture allocates regions by advancing an offset into this buffer.

mod cuda_arena;
mod ledger;
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
