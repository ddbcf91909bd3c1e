//! The error for a refused module, with the line, the instruction and the cause.

use std::fmt;

/// The error for a refused module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PtxError {
    /// The line, counted from 1, or 0 if no line caused the error.
    pub(crate) line: u32,
    /// The refused instruction with its modifiers.
    pub(crate) instruction: Option<String>,
    pub(crate) what: String,
}

/// The result of reading PTX.
pub(crate) type Reading<T> = Result<T, PtxError>;

impl PtxError {
    pub(crate) fn new(line: u32, what: impl Into<String>) -> Self {
        Self { line, instruction: None, what: what.into() }
    }

    /// Adds the instruction, unless the error already names one.
    pub(crate) fn of(self, name: &str, modifiers: &[String]) -> Self {
        let spelled = || modifiers.iter().fold(name.to_owned(), |name, next| name + "." + next);
        Self { instruction: self.instruction.or_else(|| Some(spelled())), ..self }
    }

    /// Formats the error together with the text of its line.
    pub(crate) fn with_text(&self, text: &str) -> String {
        let index = usize::try_from(self.line).unwrap_or(0).wrapping_sub(1);
        let line = text.lines().nth(index).unwrap_or_default().trim();
        format!("line {}, `{line}`: {}", self.line, self.said())
    }

    fn said(&self) -> String {
        match &self.instruction {
            Some(instruction) => format!("`{instruction}`: {}", self.what),
            None => self.what.clone(),
        }
    }
}

impl fmt::Display for PtxError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.said())
    }
}
