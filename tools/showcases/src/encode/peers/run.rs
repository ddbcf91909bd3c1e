//! What one way of encoding took, and its results.

use super::forward::Forward;

/// How one way went.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) name: String,
    /// In steady state.
    pub(super) forwards: Vec<Forward>,
    /// What came out last.
    pub(super) numbers: Vec<f32>,
}
