//! Who has which bytes: the whole state of a pool as plain data, with no lock and no call of a source.

mod bitmap;
mod chunks;
mod free_index;
mod piece;
mod reclaim;
mod region;
mod regions;
mod reports;
mod state;
mod stats;
mod wanted;

pub(crate) use chunks::Leaving;
pub use reclaim::Reset;
pub(crate) use state::{Book, Growth, Step};
pub use stats::GraphPoolStats;
pub(crate) use wanted::{Room, Wanted};
