//! The verifier: from the nodes of a finished graph and the order of its edges, it checks every two
//! regions that share bytes again. It shares no code with the planner, and trusts none of it.
//!
//! The order of a graph's nodes takes few passes (`reach.rs`). Only some pairs of regions are checked, and these decide
//! all pairs (`sweep.rs`). So the time grows with the graph and the layout, not with their square.

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
