//! The verifier. It checks the order of every two regions that share bytes, using the nodes and
//! edges of the finished graph. It shares no code with the planner, and trusts none of the
//! planner's results.
//!
//! Ordering the nodes of a graph takes few passes (`reach.rs`). Only a subset of the pairs of
//! regions is checked, which decides all other pairs (`sweep.rs`). The time therefore grows with
//! the size of the graph and the layout, not with the square of that size.

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
pub use layout::{Access, GraphOrder, OrderEdge, RegionLayout};
pub use verifier::{Verification, verify_layout};
