//! Checks the contexts of streams and makes a context current on the calling thread.
//!
//! A default stream's handle refers to a different stream in each context. Some driver calls also
//! use the current context. Each function makes its context current immediately before it calls the
//! driver. Any code that ran earlier, such as a stream's destructor or an allocator hook, might
//! have made another context current.

use cudarc::driver::{CudaContext, CudaStream, result, sys};

use crate::answer::answer;
use crate::error::CudaError;

/// Makes a context current on the calling thread.
pub fn bind(context: &CudaContext) -> Result<(), CudaError> {
    // If the driver cannot report the current context, the function makes the given context current
    // anyway.
    if result::ctx::get_current().is_ok_and(|current| current == Some(context.cu_ctx())) {
        return Ok(());
    }
    // SAFETY: the context is alive while its owner is borrowed.
    answer("cuCtxSetCurrent", unsafe { result::ctx::set_current(context.cu_ctx()) })
}

/// Returns a stream's handle and makes the stream's context current. The handle refers to this
/// stream until another context becomes current.
pub(crate) fn bound_handle(stream: &CudaStream) -> Result<sys::CUstream, CudaError> {
    bind(stream.context())?;
    Ok(stream.cu_stream())
}

/// Returns `true` if a device has an active primary context.
pub(crate) fn is_active(device: sys::CUdevice) -> Result<bool, CudaError> {
    let (mut flags, mut active) = (0, 0);
    // SAFETY: both output variables outlive the call.
    let asked = unsafe { sys::cuDevicePrimaryCtxGetState(device, &raw mut flags, &raw mut active) };
    answer("cuDevicePrimaryCtxGetState", asked.result())?;
    Ok(active != 0)
}

/// Returns the ordinal of a context's device.
pub fn ordinal(context: &CudaContext) -> u32 {
    // The conversion cannot fail, because the context was created from a 32-bit ordinal.
    u32::try_from(context.ordinal()).unwrap_or(u32::MAX)
}

/// Checks that a stream belongs to the given context.
///
/// # Errors
///
/// Returns [`CudaError::WrongDevice`] if the stream belongs to another device, or
/// [`CudaError::WrongContext`] if it belongs to another context of the same device.
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
