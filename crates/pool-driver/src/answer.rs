//! The result of a driver call, as an error of ours that names the call.

use cudarc::driver::DriverError;

use crate::error::CudaError;

/// The result of a call, whose error holds the name of the call.
pub fn answer<T>(call: &'static str, result: Result<T, DriverError>) -> Result<T, CudaError> {
    result.map_err(|error| CudaError::Call { call, code: error.into() })
}
