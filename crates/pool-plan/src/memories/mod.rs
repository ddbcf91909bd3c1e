//! Several memories: each buffer is assigned to one of its allowed memories and placed there, at the least cost.
//!
//! A plan comes from joint greedy placement, a local search over assignments whose memories are then planned
//! separately, and, for up to 64 buffers, an exhaustive search. Prices of bytes prove a bound below the cost of every
//! plan.

mod exhaustive;
mod greedy;
mod instance;
mod loads;
mod packing;
mod plan;
mod prices;
mod problem;
mod search;
mod solve;

pub use plan::{MemoryCertificate, MemoryPlan};
pub use problem::MemoryProblem;
