//! The calls in a body that allocate memory. Errors and records of a capture name them.

use std::panic::Location;

/// A call in the user's program: the function, and the source location.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallSite {
    pub(crate) call: Option<(&'static str, &'static Location<'static>)>,
}

impl CallSite {
    /// Creates a call site with the function's name and the location of the caller, as
    /// `#[track_caller]` determines it.
    #[track_caller]
    pub(super) fn of(function: &'static str) -> Self {
        Self { call: Some((function, Location::caller())) }
    }
}
