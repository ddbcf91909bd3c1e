//! The one error of the backend.

use thiserror::Error;

/// The system has no such block of host memory.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the system refused {bytes} bytes of host memory")]
#[non_exhaustive]
pub struct CpuError {
    /// Bytes that were asked for.
    pub bytes: usize,
}
