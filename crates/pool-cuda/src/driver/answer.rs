//! What a call of the driver answered, as an error of ours that names the call.

use cudarc::driver::DriverError;

use crate::driver::code::DriverCode;
use crate::driver::error::CudaError;

/// The answer of a call, whose error holds the name of the call.
pub(crate) fn answer<T>(
    call: &'static str,
    result: Result<T, DriverError>,
) -> Result<T, CudaError> {
    result.map_err(|error| CudaError::Call { call, code: error.into() })
}

/// The answer to waiting for something, or to giving it back, where its being gone with its context counts as
/// success: nothing runs there any more, and there is nothing left to give back.
pub(crate) fn unless_gone(result: Result<(), CudaError>) -> Result<(), CudaError> {
    match result {
        Err(error) if error.code().is_some_and(DriverCode::says_gone) => Ok(()),
        _ => result,
    }
}
