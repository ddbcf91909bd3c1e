//! Defines the backend's error type.

use core::error::Error;
use core::fmt;

/// The error returned when the system cannot allocate a block of host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CpuError {
    /// The number of requested bytes.
    pub bytes: usize,
}

impl fmt::Display for CpuError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the system cannot allocate {} bytes of host memory", self.bytes)
    }
}

impl Error for CpuError {}
