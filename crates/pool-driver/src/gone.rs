//! Detects contexts that are gone, which is the only case in which a failed call is excused.
//!
//! A pool and a graph are correct because streams are ordered. Therefore one rule applies to every
//! ordering call: recording an event, waiting for one, waiting on the host, querying the capture of
//! a stream, retaining a context. **If such a call fails, the use that needed it fails with the
//! error, whatever the code is.** No code is a sufficient excuse, because a driver may return any
//! code once, for its own reasons, while the work in question still runs.
//!
//! A failure to free a resource is excused if the resource's context is gone, because nothing is
//! left to free. A failure to wait for a context that is gone is also excused, because no work runs
//! on it. In both cases a second, independent call must confirm that the context is gone
//! ([`is_gone`]). No function excuses an error based on its code.

use cudarc::driver::{CudaContext, result};

use crate::answer::answer;
use crate::code::DriverCode;
use crate::context::{bind, is_active};
use crate::error::CudaError;

/// Returns `true` if an error comes from a context that is gone. Both the error's code and another
/// call on that context must show this.
#[must_use]
pub fn is_gone(context: &CudaContext, error: &CudaError) -> bool {
    error.code().is_some_and(says_gone) && is_confirmed_gone(context)
}

/// Does the same as [`is_gone`], for the calling thread's current context.
pub(crate) fn is_current_gone(error: &CudaError) -> bool {
    let asked = || answer("cuMemGetInfo", result::mem_get_info());
    error.code().is_some_and(says_gone)
        && asked().is_err_and(|error| error.code().is_some_and(says_gone))
}

/// Converts the result of freeing a resource of a context, or of waiting for a context. If the
/// context is gone, the result is a success.
///
/// # Errors
///
/// Returns the error if a second call does not confirm that the context is gone.
pub fn unless_gone(context: &CudaContext, result: Result<(), CudaError>) -> Result<(), CudaError> {
    match result {
        Err(error) if is_gone(context, &error) => Ok(()),
        _ => result,
    }
}

/// Returns `true` if the code can come from a context or driver that is gone. Such a code can also
/// come from a context that is not gone.
fn says_gone(code: DriverCode) -> bool {
    code.is_sticky() || matches!(code.number(), 4 | 201 | 400)
}

/// Queries the context's memory, which is legal in every capture. A lost context returns its sticky
/// error. If the context cannot be made current, this function checks if the device has a primary
/// context.
fn is_confirmed_gone(context: &CudaContext) -> bool {
    let asked = match bind(context) {
        Ok(()) => answer("cuMemGetInfo", result::mem_get_info()).map(|_| true),
        Err(_) => is_active(context.cu_device()),
    };
    asked.map_or_else(|error| error.code().is_some_and(says_gone), |is_alive| !is_alive)
}
