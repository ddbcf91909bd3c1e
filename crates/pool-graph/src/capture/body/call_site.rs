//! The source locations of calls that allocate memory in a body. The errors and records of a
//! capture contain these locations.

use std::panic::Location;

/// A call in the user's program, consisting of the name of the called function and the source
/// location of the call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallSite {
    pub(crate) call: Option<(&'static str, &'static Location<'static>)>,
}

impl CallSite {
    /// Creates a call site from a function name and the location of the caller (`#[track_caller]`).
    #[track_caller]
    pub(super) fn of(function: &'static str) -> Self {
        Self { call: Some((function, Location::caller())) }
    }
}
