//! The name of a temporary in error messages.

use std::fmt;
use std::panic::Location;

/// A temporary of a body, identified by its number and the call that allocated it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TemporaryName {
    /// The number of the temporary, counted from 0 in the order of the body's allocations. Blocks
    /// of scopes are counted as well.
    pub number: usize,
    /// The method that allocated the temporary (`acquire` or `scope`), and the location of the call
    /// in the body.
    pub taken_by: Option<(&'static str, &'static Location<'static>)>,
}

impl fmt::Display for TemporaryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "temporary #{}", self.number)?;
        match self.taken_by {
            Some((function, place)) => write!(f, " (`{function}` at {place})"),
            None => Ok(()),
        }
    }
}
