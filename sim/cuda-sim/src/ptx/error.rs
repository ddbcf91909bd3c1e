//! Why a module is refused: the line, what stands there, and what is wrong with it.

use std::fmt;

/// A module that is not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PtxError {
    /// Counted from 1; 0 where no line is to blame.
    pub(crate) line: u32,
    /// The instruction that is refused, with its modifiers.
    pub(crate) instruction: Option<String>,
    pub(crate) what: String,
}

/// The result of reading PTX.
pub(crate) type Reading<T> = Result<T, PtxError>;

impl PtxError {
    pub(crate) fn new(line: u32, what: impl Into<String>) -> Self {
        Self { line, instruction: None, what: what.into() }
    }

    /// As the refusal of an instruction, if it is not one already.
    pub(crate) fn of(self, name: &str, modifiers: &[String]) -> Self {
        let spelled = || modifiers.iter().fold(name.to_owned(), |name, next| name + "." + next);
        Self { instruction: self.instruction.or_else(|| Some(spelled())), ..self }
    }

    /// With the text of the line.
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
