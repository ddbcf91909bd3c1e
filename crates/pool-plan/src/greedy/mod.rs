//! Greedy plans: take the buffers in some order and put each into the best free range among those
//! that may not share with it.

mod orders;
mod place;
mod ranges;
mod time_tree;

pub(crate) use orders::{Order, orders};
pub(crate) use place::Placer;
pub(crate) use ranges::{Fit, fit};
