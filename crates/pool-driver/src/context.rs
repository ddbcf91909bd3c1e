//! Contexts: the device of a context, the context of a stream, and the current context of the
//! calling thread.
//!
//! The handle of a default stream means another stream in each context, and some calls use the
//! current context. So each function that calls the driver makes its context the current one, right
//! before its call. Code that runs in between (the drop of a stream, a hook of the allocator) may
//! have chosen another.

use cudarc::driver::{CudaContext, CudaStream, result, sys};

use crate::answer::answer;
use crate::error::CudaError;

/// Makes a context the calling thread's current one.
pub fn bind(context: &CudaContext) -> Result<(), CudaError> {
    // If the driver cannot report the current context, it is set.
    if result::ctx::get_current().is_ok_and(|current| current == Some(context.cu_ctx())) {
        return Ok(());
    }
    // SAFETY: the context is live while its owner is borrowed.
    answer("cuCtxSetCurrent", unsafe { result::ctx::set_current(context.cu_ctx()) })
}

/// Returns the handle of a stream, whose context becomes the current one. The handle means that
/// stream until another context becomes the current one.
pub(crate) fn bound_handle(stream: &CudaStream) -> Result<sys::CUstream, CudaError> {
    bind(stream.context())?;
    Ok(stream.cu_stream())
}

/// Returns `true` if a device has a primary context.
pub(crate) fn is_active(device: sys::CUdevice) -> Result<bool, CudaError> {
    let (mut flags, mut active) = (0, 0);
    // SAFETY: both places outlive the call.
    let asked = unsafe { sys::cuDevicePrimaryCtxGetState(device, &raw mut flags, &raw mut active) };
    answer("cuDevicePrimaryCtxGetState", asked.result())?;
    Ok(active != 0)
}

/// Returns the ordinal of a context's device.
pub fn ordinal(context: &CudaContext) -> u32 {
    // cudarc got the ordinal as a number of 32 bits.
    u32::try_from(context.ordinal()).unwrap_or(u32::MAX)
}

/// Checks that a stream belongs to a context.
///
/// # Errors
///
/// [`CudaError::WrongDevice`] for a stream of another device, and [`CudaError::WrongContext`] for a stream of
/// another context of the same device.
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
