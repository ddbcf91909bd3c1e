//! The times and the results of one encoder.

use super::forward::Forward;

/// The measurements of one encoder.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) name: String,
    /// The forward passes in the steady state.
    pub(super) forwards: Vec<Forward>,
    /// The results of the last forward pass.
    pub(super) numbers: Vec<f32>,
}
