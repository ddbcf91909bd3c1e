//! Whether a context is gone: the only excuse for a call that failed, and how it is confirmed.
//!
//! A pool and a graph are correct because streams are ordered. So this is the rule for every call that orders: recording
//! an event, waiting for one, waiting on the host, asking which capture a stream is in, retaining a context. **Where
//! such a call fails, the use that needed it fails with the error, whatever the code is.** No code alone excuses it: a
//! driver may return any code once, for a reason of its own, while the work that was to be waited for still runs.
//!
//! Giving a resource back is excused where its context is gone, because there is nothing to give back. Waiting for a
//! context that is gone is excused, too, because nothing runs there. In both cases a second, independent call must
//! confirm it ([`is_gone`]). No function takes a code and excuses it.

use cudarc::driver::{CudaContext, result};

use crate::answer::answer;
use crate::code::DriverCode;
use crate::context::{bind, is_active};
use crate::error::CudaError;

/// Whether an error comes from a context that is gone: its code says so, and so does another call on that context.
#[must_use]
pub fn is_gone(context: &CudaContext, error: &CudaError) -> bool {
    error.code().is_some_and(says_gone) && is_confirmed_gone(context)
}

/// As [`is_gone`], for the context that is the calling thread's current one.
pub(crate) fn is_current_gone(error: &CudaError) -> bool {
    let asked = || answer("cuMemGetInfo", result::mem_get_info());
    error.code().is_some_and(says_gone)
        && asked().is_err_and(|error| error.code().is_some_and(says_gone))
}

/// The result of giving a resource of a context back, or of waiting for one: a success where that context is gone.
///
/// # Errors
///
/// The error, where a second call does not confirm that the context is gone.
pub fn unless_gone(context: &CudaContext, result: Result<(), CudaError>) -> Result<(), CudaError> {
    match result {
        Err(error) if is_gone(context, &error) => Ok(()),
        _ => result,
    }
}

/// Whether a code may come from a context, or a driver, that is gone. It may also come from one that is not.
fn says_gone(code: DriverCode) -> bool {
    code.is_sticky() || matches!(code.number(), 4 | 201 | 400)
}

/// Asks the context how much memory it has, which is legal in every capture. A context that is lost returns its sticky
/// error. Where the context cannot be made the current one, the device is asked whether it has a primary context.
fn is_confirmed_gone(context: &CudaContext) -> bool {
    let asked = match bind(context) {
        Ok(()) => answer("cuMemGetInfo", result::mem_get_info()).map(|_| true),
        Err(_) => is_active(context.cu_device()),
    };
    asked.map_or_else(|error| error.code().is_some_and(says_gone), |is_alive| !is_alive)
}
