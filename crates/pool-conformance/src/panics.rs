//! Panics that the tests raise deliberately. These panics print nothing. The code that catches
//! planned panics propagates all other panics, so that a failed check cannot be mistaken for a
//! planned panic.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook, take_hook};
use std::sync::Once;

/// A planned panic's payload.
#[derive(Debug)]
struct PlannedPanic;

thread_local! {
    static QUIET: Cell<usize> = const { Cell::new(0) };
}

/// Panics deliberately without calling the panic hook.
pub fn panic_as_planned() -> ! {
    resume_unwind(Box::new(PlannedPanic))
}

/// Returns `true` if the payload was created by [`panic_as_planned`].
#[must_use]
pub fn is_planned(payload: &(dyn Any + Send)) -> bool {
    payload.is::<PlannedPanic>()
}

/// The prefix of each message from [`panic_in_allocation`].
const IN_ALLOCATION: &str = "the test panics instead of allocating";

/// Simulates a backend that panics during an allocation. [`Ledger::ask`](crate::Ledger::ask) calls
/// this function.
///
/// # Panics
///
/// `panic_in_allocation` always panics with a message that [`is_in_allocation`] recognizes.
pub fn panic_in_allocation(bytes: usize) -> ! {
    panic!("{IN_ALLOCATION} {bytes} bytes");
}

/// Returns `true` if the payload was created by [`panic_in_allocation`].
#[must_use]
pub fn is_in_allocation(payload: &(dyn Any + Send)) -> bool {
    text(payload).starts_with(IN_ALLOCATION)
}

/// Runs code that may panic deliberately, and returns `None` if it does. Any other panic
/// propagates.
pub fn catch_planned<R>(code: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(code)) {
        Ok(value) => Some(value),
        Err(payload) if is_planned(payload.as_ref()) => None,
        Err(payload) => resume_unwind(payload),
    }
}

/// Runs library code that is expected to panic in some cases. If the code panics, the panic message
/// is not printed.
///
/// # Errors
///
/// Returns the panic's payload.
pub fn catch_quietly<R>(code: impl FnOnce() -> R) -> Result<R, Box<dyn Any + Send>> {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| {
        let loud = take_hook();
        set_hook(Box::new(move |info| {
            if QUIET.get() == 0 {
                loud(info);
            }
        }));
    });
    QUIET.set(QUIET.get() + 1);
    let outcome = catch_unwind(AssertUnwindSafe(code));
    QUIET.set(QUIET.get() - 1);
    outcome
}

/// Returns a panic's message, or an empty string if the payload is not a string.
#[must_use]
pub fn text(payload: &(dyn Any + Send)) -> &str {
    let string = payload.downcast_ref::<String>().map(String::as_str);
    string.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("")
}
