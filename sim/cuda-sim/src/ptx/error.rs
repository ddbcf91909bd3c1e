//! Why a module is refused: the line, what stands there, and what is wrong with it.

use std::fmt;

/// A module that is not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PtxError {
    /// Counted from 1; 0 where no line is to blame.
    pub(crate) line: u32,
    pub(crate) what: String,
}

/// The result of reading PTX.
pub(crate) type Reading<T> = Result<T, PtxError>;

impl PtxError {
    pub(crate) fn new(line: u32, what: impl Into<String>) -> Self {
        Self { line, what: what.into() }
    }

    /// With the text of the line.
    pub(crate) fn with_text(&self, text: &str) -> String {
        let index = usize::try_from(self.line).unwrap_or(0).wrapping_sub(1);
        let line = text.lines().nth(index).unwrap_or_default().trim();
        format!("line {}, `{line}`: {}", self.line, self.what)
    }
}

impl fmt::Display for PtxError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.what)
    }
}
