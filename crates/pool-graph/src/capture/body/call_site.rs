//! Who asks for memory of a body: what a record of the capture says of a temporary, and nobody else needs.

#[cfg(feature = "record")]
use std::panic::Location;

/// A call in the user's program. Without the feature `record` nothing is kept of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CallSite {
    #[cfg(feature = "record")]
    pub(crate) call: Option<(&'static str, &'static Location<'static>)>,
}

impl CallSite {
    /// The call of a function, by its name, from outside of the functions that track their callers.
    #[track_caller]
    #[cfg(feature = "record")]
    pub(super) fn of(function: &'static str) -> Self {
        Self { call: Some((function, Location::caller())) }
    }

    /// The same where nothing is recorded.
    #[cfg(not(feature = "record"))]
    pub(super) fn of(_: &'static str) -> Self {
        Self::default()
    }
}
