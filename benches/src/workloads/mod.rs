//! The workloads. Each is written once, for any [`Column`](crate::column::Column).

pub mod collections;
pub mod demo;
pub mod growth;
pub mod held;
pub mod large;
pub mod marked;
pub mod nesting;
mod on_columns;
pub mod small;
pub mod threads;
pub mod types;
pub mod varying;
pub mod views;
pub mod views_dynamic;

use crate::case::Case;

/// Returns the cases that alternate within one process, in the order of the tables.
#[must_use]
pub fn cases() -> Vec<Case> {
    [
        small::cases(),
        marked::cases(),
        types::cases(),
        nesting::cases(),
        views::cases(),
        views_dynamic::cases(),
        varying::cases(),
        demo::cases(),
        growth::cases(),
        collections::cases(),
    ]
    .concat()
}
