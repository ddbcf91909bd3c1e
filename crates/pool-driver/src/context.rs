//! Contexts: the device of a context, the context of a stream, and the calling thread's current
//! context.
//!
//! The handle of a default stream refers to a different stream in each context, and some calls use
//! the current context. Therefore each function that calls the driver makes its context current
//! immediately before its call. Code that runs in between (the drop of a stream, a hook of the
//! allocator) may have made another context current.

use cudarc::driver::{CudaContext, CudaStream, result, sys};

use crate::answer::answer;
use crate::error::CudaError;

/// Makes a context current on the calling thread.
pub fn bind(context: &CudaContext) -> Result<(), CudaError> {
    // If the driver cannot report the current context, the context is set.
    if result::ctx::get_current().is_ok_and(|current| current == Some(context.cu_ctx())) {
        return Ok(());
    }
    // SAFETY: the context is live while its owner is borrowed.
    answer("cuCtxSetCurrent", unsafe { result::ctx::set_current(context.cu_ctx()) })
}

/// Returns the handle of a stream and makes the stream's context current. The handle refers to that
/// stream until another context becomes current.
pub(crate) fn bound_handle(stream: &CudaStream) -> Result<sys::CUstream, CudaError> {
    bind(stream.context())?;
    Ok(stream.cu_stream())
}

/// Returns `true` if a device has a primary context.
pub(crate) fn is_active(device: sys::CUdevice) -> Result<bool, CudaError> {
    let (mut flags, mut active) = (0, 0);
    // SAFETY: both output variables outlive the call.
    let asked = unsafe { sys::cuDevicePrimaryCtxGetState(device, &raw mut flags, &raw mut active) };
    answer("cuDevicePrimaryCtxGetState", asked.result())?;
    Ok(active != 0)
}

/// Returns the ordinal of a context's device.
pub fn ordinal(context: &CudaContext) -> u32 {
    // cudarc received the ordinal as a 32-bit number.
    u32::try_from(context.ordinal()).unwrap_or(u32::MAX)
}

/// Checks that a stream belongs to a context.
///
/// # Errors
///
/// Returns [`CudaError::WrongDevice`] for a stream of another device, and
/// [`CudaError::WrongContext`] for a stream of another context of the same device.
pub fn check_context(context: &CudaContext, stream: &CudaStream) -> Result<(), CudaError> {
    let (own, other) = (ordinal(context), ordinal(stream.context()));
    if own != other {
        return Err(CudaError::WrongDevice { memory: own, stream: other });
    }
    if context.cu_ctx() != stream.context().cu_ctx() {
        return Err(CudaError::WrongContext { ordinal: own });
    }
    Ok(())
}
