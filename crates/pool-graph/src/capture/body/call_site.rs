//! The source locations of the calls that allocate memory in a body. A capture's errors and records
//! contain these locations.

use std::panic::Location;

/// A call in the user's program: the called function's name and the source location of the call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallSite {
    pub(crate) call: Option<(&'static str, &'static Location<'static>)>,
}

impl CallSite {
    /// Creates a call site from a function name and the caller's location (`#[track_caller]`).
    #[track_caller]
    pub(super) fn of(function: &'static str) -> Self {
        Self { call: Some((function, Location::caller())) }
    }
}
