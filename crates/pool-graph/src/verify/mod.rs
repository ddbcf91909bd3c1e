//! The verifier, which reads the nodes and edges of a finished graph. For every pair of regions
//! that share bytes, the verifier checks that the graph uses one region after the other. The
//! verifier shares no code with the planner and does not trust its results.
//!
//! The verifier determines the order of a graph's nodes in a few passes; see `reach.rs`. The
//! verifier checks only some pairs of regions, because the results for these pairs imply those for
//! all others; see `sweep.rs`. The running time therefore does not grow quadratically with the
//! number of nodes or regions.

mod error;
mod layout;
mod lists;
mod lives;
mod order;
mod questions;
mod reach;
mod regions;
mod sweep;
mod verifier;

pub use error::LayoutViolation;
pub use layout::{GraphOrder, NodeAccess, OrderEdge, RegionLayout};
pub use verifier::{Verification, verify_layout};
