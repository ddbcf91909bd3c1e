//! The test for a context that is gone: the only excuse for a call that failed.
//!
//! A pool and a graph are correct because streams are ordered. So this is the rule for every
//! ordering call: recording an event, waiting for one, waiting on the host, querying the capture of
//! a stream, retaining a context. **If such a call fails, the use that needed it fails with the
//! error, for every code.** No code alone excuses it: a driver may return any code once, for a
//! reason of its own, while the work in question still runs.
//!
//! Freeing a resource is excused if its context is gone, because there is nothing to free. Waiting
//! for a context that is gone is excused, too, because nothing runs there. In both cases a second,
//! independent call must confirm it ([`is_gone`]). No function takes a code and excuses it.

use cudarc::driver::{CudaContext, result};

use crate::answer::answer;
use crate::code::DriverCode;
use crate::context::{bind, is_active};
use crate::error::CudaError;

/// Returns `true` if an error comes from a context that is gone: its code shows it, and so does
/// another call on that context.
#[must_use]
pub fn is_gone(context: &CudaContext, error: &CudaError) -> bool {
    error.code().is_some_and(says_gone) && is_confirmed_gone(context)
}

/// Does the same as [`is_gone`], for the context that is the calling thread's current one.
pub(crate) fn is_current_gone(error: &CudaError) -> bool {
    let asked = || answer("cuMemGetInfo", result::mem_get_info());
    error.code().is_some_and(says_gone)
        && asked().is_err_and(|error| error.code().is_some_and(says_gone))
}

/// Converts the result of freeing a resource of a context, or of waiting for one: a success if that
/// context is gone.
///
/// # Errors
///
/// The error, if a second call does not confirm that the context is gone.
pub fn unless_gone(context: &CudaContext, result: Result<(), CudaError>) -> Result<(), CudaError> {
    match result {
        Err(error) if is_gone(context, &error) => Ok(()),
        _ => result,
    }
}

/// Returns `true` if a code may come from a context or driver that is gone. It may also come from
/// one that is not.
fn says_gone(code: DriverCode) -> bool {
    code.is_sticky() || matches!(code.number(), 4 | 201 | 400)
}

/// Queries the context's memory, which is legal in every capture. A lost context returns its sticky
/// error. If the context cannot be made the current one, the device is queried for a primary
/// context.
fn is_confirmed_gone(context: &CudaContext) -> bool {
    let asked = match bind(context) {
        Ok(()) => answer("cuMemGetInfo", result::mem_get_info()).map(|_| true),
        Err(_) => is_active(context.cu_device()),
    };
    asked.map_or_else(|error| error.code().is_some_and(says_gone), |is_alive| !is_alive)
}
