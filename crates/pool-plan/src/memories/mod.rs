//! Planning for several memories. The planner assigns each buffer to one of its permitted memories
//! and places the buffer there. The planner looks for the plan with the lowest cost.
//!
//! The planner uses three methods to find plans. The first method places buffers greedily in all
//! memories. The second method is a local search for assignments in which each memory is planned
//! separately. The third method is an exhaustive search, which runs only if there are at most 64
//! buffers. Prices per byte prove a lower bound on the cost of every plan.

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
