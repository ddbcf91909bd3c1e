//! Converts the results of driver calls into `Result`s whose errors name the failed call.

use cudarc::driver::DriverError;

use crate::error::CudaError;

/// Converts the result of a driver call into a `Result` whose error names the call.
pub fn answer<T>(call: &'static str, result: Result<T, DriverError>) -> Result<T, CudaError> {
    result.map_err(|error| CudaError::Call { call, code: error.into() })
}
