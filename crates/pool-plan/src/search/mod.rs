//! Exact search: is there a plan within a capacity?

mod instance;
mod neighbours;
mod ranks;
mod state;
mod tree;

pub(crate) use instance::Instance;
pub(crate) use neighbours::{Neighbours, Overlaps};
pub(crate) use ranks::{HEURISTICS, Ranker};
pub(crate) use tree::{Outcome, Search};
