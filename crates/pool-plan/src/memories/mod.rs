//! Planning for several memories. Each buffer is assigned to one of the memories that it allows,
//! and is placed in that memory. The planner looks for the plan with the lowest cost.
//!
//! There are three methods of finding a plan: joint greedy placement, a local search over
//! assignments in which each memory is planned separately, and an exhaustive search for up to 64
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
