//! A pool's bookkeeping, which records the owner of every byte. A ledger consists of plain data,
//! contains no lock, and never calls a source.

mod bitmap;
mod chunks;
mod free_index;
mod missing_capacity;
mod piece;
mod reclaim;
mod region;
mod regions;
mod reports;
mod state;
mod stats;

pub(crate) use chunks::LeavingPieces;
pub use reclaim::Reset;
pub(crate) use state::{AllocationStep, BlockLedger, Growth};
pub use stats::GraphPoolStats;
