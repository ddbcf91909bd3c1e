//! Captured graphs, which own the memory that their nodes use.

mod captured_graph;
mod feeding;
mod idle_scope;
mod runs;
mod staging_pool;
mod ticket;
mod transfer;
mod update;

pub use captured_graph::CapturedGraph;
pub use staging_pool::{StagingConfig, StagingPool};
pub use ticket::ReadTicket;
