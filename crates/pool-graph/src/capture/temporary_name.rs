//! A temporary's description for error messages.

use std::fmt;
use std::panic::Location;

/// A description of a temporary. The description consists of the temporary's number and the call
/// that allocated the temporary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TemporaryName {
    /// The temporary's number, counting from 0 in allocation order. The numbering includes blocks
    /// that scopes allocate.
    pub number: usize,
    /// The name of the method that allocated the temporary (`acquire`, `scope`, or `workspace`),
    /// and the location of the call in the body.
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
