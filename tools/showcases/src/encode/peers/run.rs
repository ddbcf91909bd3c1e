//! The times of one way of encoding, and its results.

use super::forward::Forward;

/// How one way went.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) name: String,
    /// In steady state.
    pub(super) forwards: Vec<Forward>,
    /// The last results.
    pub(super) numbers: Vec<f32>,
}
