//! Detects contexts that have been destroyed or lost. Callers may ignore an error only if the
//! context has been destroyed or lost.
//!
//! Pools and graphs rely on each stream to run its work in order. If a call that orders work fails,
//! the operation that depends on this order returns the same error, whatever its code. The same
//! rule applies to every call that records an event, waits for one, or makes the host wait. This
//! rule also applies to calls that query a stream's capture status or retain a context. A driver
//! can return any error code while the work is still running, so an error must not be ignored
//! solely because of its code.
//!
//! If a resource's context is gone, so is the resource, and a failure to free it is ignored. If a
//! context is gone, no work runs in it, so a failed wait for the context is ignored. Before a
//! function ignores an error, [`is_gone`] makes a second, independent call that confirms that the
//! context is gone. No function ignores an error solely because of its code.

use cudarc::driver::{CudaContext, result};

use crate::answer::answer;
use crate::code::DriverCode;
use crate::context::{bind, is_active};
use crate::error::CudaError;

/// Returns `true` if the context that returned an error has been destroyed or lost. The error's
/// code must indicate that the context is gone, and a second call in that context must confirm
/// this.
#[must_use]
pub fn is_gone(context: &CudaContext, error: &CudaError) -> bool {
    error.code().is_some_and(says_gone) && is_confirmed_gone(context)
}

/// Does the same check as [`is_gone`], but for the calling thread's current context.
pub(crate) fn is_current_gone(error: &CudaError) -> bool {
    let asked = || answer("cuMemGetInfo", result::mem_get_info());
    error.code().is_some_and(says_gone)
        && asked().is_err_and(|error| error.code().is_some_and(says_gone))
}

/// Returns `Ok` if the context has been destroyed or lost; otherwise, returns the given result. The
/// result must come from freeing a resource in the context or from waiting for the context's work.
///
/// # Errors
///
/// Returns the error if a second call does not confirm that the context has been destroyed or lost.
pub fn unless_gone(context: &CudaContext, result: Result<(), CudaError>) -> Result<(), CudaError> {
    match result {
        Err(error) if is_gone(context, &error) => Ok(()),
        _ => result,
    }
}

/// Returns `true` for codes that indicate that a context was destroyed or lost, or that the driver
/// has shut down. The driver may also return these codes for a context that still works.
fn says_gone(code: DriverCode) -> bool {
    code.is_sticky() || matches!(code.number(), 4 | 201 | 400)
}

/// Confirms with another call that a context is gone. This call queries the device's memory size,
/// because that query is allowed during every kind of capture. In a lost context, every call
/// returns the context's sticky error. If the context cannot be made current, this function checks
/// whether the device has an active primary context.
fn is_confirmed_gone(context: &CudaContext) -> bool {
    let asked = match bind(context) {
        Ok(()) => answer("cuMemGetInfo", result::mem_get_info()).map(|_| true),
        Err(_) => is_active(context.cu_device()),
    };
    asked.map_or_else(|error| error.code().is_some_and(says_gone), |is_alive| !is_alive)
}
