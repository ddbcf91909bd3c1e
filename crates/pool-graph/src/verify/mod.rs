//! The verifier: from the nodes of a finished graph and the order of its edges, it checks every two
//! regions that share bytes again. It shares no code with the planner, and trusts none of it.
//!
//! The order of a graph's nodes takes few passes (`reach.rs`), and only as many pairs of regions
//! are checked as decide all pairs (`sweep.rs`): the time grows with the graph and the layout, not
//! with their square.

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
