//! The verifier: given what a graph really is, its nodes and what its edges order, it checks once more
//! every two regions that share bytes. It shares no code with the planner, and trusts none of it.
//!
//! What is ordered is asked of a graph's nodes in few passes (`reach.rs`), and of pairs of regions only as
//! many as say it of all (`sweep.rs`): both grow with the graph and the layout, not with their square.

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
