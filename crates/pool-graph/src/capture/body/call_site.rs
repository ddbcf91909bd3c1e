//! The calls that allocate in a body; errors and records of a capture contain them.

use std::panic::Location;

/// A call in the user's program: the function, and the place.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallSite {
    pub(crate) call: Option<(&'static str, &'static Location<'static>)>,
}

impl CallSite {
    /// Returns the call of a function, by its name, outside the functions that track their callers.
    #[track_caller]
    pub(super) fn of(function: &'static str) -> Self {
        Self { call: Some((function, Location::caller())) }
    }
}
