//! Greedy plans. A placer processes the items in a given order. The placer places each item in a
//! free range between the items with which it must not share bytes.

mod by_conflicts;
mod by_neighbours;
mod by_start;
mod by_time;
mod orders;
mod placer;
mod ranges;
mod span_list;
mod time_tree;
mod union;

pub(crate) use by_conflicts::ConflictPlacer;
pub(crate) use by_time::TimelinePlacer;
pub(crate) use orders::{Measures, Order, Recipe, places_by_name};
pub(crate) use placer::{Placement, Placer};
