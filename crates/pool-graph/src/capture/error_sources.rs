//! The errors of others that a capture passes on as another error than their own.

use pool_cuda::CudaError;
use pool_cuda::cudarc::driver::DriverError;

use super::error::CaptureError;
use crate::base::room::NoRoom;

impl From<NoRoom> for CaptureError {
    fn from(no_room: NoRoom) -> Self {
        Self::Memory(no_room.into())
    }
}

/// The errors of cudarc's own calls in a body.
impl From<DriverError> for CaptureError {
    fn from(error: DriverError) -> Self {
        Self::Driver(CudaError::Call { call: "a call of cudarc", code: error.into() })
    }
}
