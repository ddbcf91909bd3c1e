//! The errors of a file of buffers, with their positions.

use pool_plan::PlanError;
use thiserror::Error;

/// The reason why a file of buffers cannot be read or written.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum CsvError {
    /// A field or the header is not as the format has it.
    #[error("line {line}, column {column}: {message}")]
    Field {
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1.
        column: usize,
        /// The error, with the text of the field.
        message: String,
    },
    /// A line describes a buffer that cannot be planned.
    #[error("line {line}, column {column}")]
    Buffer {
        /// Line, from 1.
        line: usize,
        /// Column in characters, from 1, of the wrong field.
        column: usize,
        /// The mistake in the buffer.
        #[source]
        error: PlanError,
    },
    /// The buffers together are not a valid problem.
    #[error(transparent)]
    Problem(#[from] PlanError),
}
