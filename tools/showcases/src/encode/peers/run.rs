//! The times of one way of encoding, and its results.

use super::forward::Forward;

/// The results of one variant.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) name: String,
    /// In steady state.
    pub(super) forwards: Vec<Forward>,
    /// The last results.
    pub(super) numbers: Vec<f32>,
}
