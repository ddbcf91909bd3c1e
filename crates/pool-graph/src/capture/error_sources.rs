//! The errors of others that a capture passes on.

use pool_core::PoolError;
use pool_cuda::CudaError;
use pool_cuda::cudarc::driver::DriverError;
use pool_plan::PlanError;

use super::error::CaptureError;
use crate::arena::ArenaPlanError;
use crate::base::error::GraphMemoryError;
use crate::base::room::NoRoom;
use crate::verify::LayoutViolation;

impl From<CudaError> for CaptureError {
    fn from(error: CudaError) -> Self {
        Self::Driver(error)
    }
}

impl From<GraphMemoryError<CudaError>> for CaptureError {
    fn from(error: GraphMemoryError<CudaError>) -> Self {
        Self::Memory(error)
    }
}

/// The errors of the pools of a body's scopes.
impl From<PoolError<CudaError>> for CaptureError {
    fn from(error: PoolError<CudaError>) -> Self {
        Self::Pool(error)
    }
}

impl From<PlanError> for CaptureError {
    fn from(error: PlanError) -> Self {
        Self::Plan(error)
    }
}

impl From<ArenaPlanError> for CaptureError {
    fn from(error: ArenaPlanError) -> Self {
        Self::ArenaPlan(error)
    }
}

impl From<LayoutViolation> for CaptureError {
    fn from(error: LayoutViolation) -> Self {
        Self::Layout(error)
    }
}

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
