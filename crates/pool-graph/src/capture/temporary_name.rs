//! Temporaries of a body, as errors name them.

use std::fmt;
use std::panic::Location;

/// A temporary of a body: its number, and the call that took it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TemporaryName {
    /// Its number, counted from 0 in the order in which the body takes temporaries. Blocks of scopes count, too.
    pub number: usize,
    /// The function that took it, `acquire` or `scope`, and where the body calls that.
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
