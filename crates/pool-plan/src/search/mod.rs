//! Exact searches. An exact search decides whether a plan fits within a capacity.

mod blocks;
mod candidates;
mod instance;
mod neighbours;
mod niche;
mod ranks;
mod skyline;
mod state;
mod steps;
mod tree;
mod unplaced_items;

pub(crate) use instance::Instance;
pub(crate) use neighbours::Neighbours;
pub(crate) use niche::{FOCUSES, NicheSearch};
pub(crate) use ranks::{HEURISTICS, LASTING, Ranker, Ranks};
pub(crate) use steps::{Outcome, Steps};
pub(crate) use tree::Search;
