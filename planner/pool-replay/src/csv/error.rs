//! The errors in a file of buffers, with their positions.

use pool_plan::PlanError;
use thiserror::Error;

/// The reason why a file of buffers cannot be read or written.
#[derive(Clone, Debug, Error, PartialEq)]
#[non_exhaustive]
pub enum CsvError {
    /// A field or the header does not have the required form.
    #[error("line {line}, column {column}: {message}")]
    Field {
        /// The line, starting at 1.
        line: usize,
        /// The column in characters, starting at 1.
        column: usize,
        /// The mistake, with the text of the field.
        message: String,
    },
    /// A line describes a buffer that cannot be planned.
    #[error("line {line}, column {column}")]
    Buffer {
        /// The line, starting at 1.
        line: usize,
        /// The column of the wrong field in characters, starting at 1.
        column: usize,
        /// The mistake in the buffer.
        #[source]
        error: PlanError,
    },
    /// Together, the buffers are not a valid problem.
    #[error(transparent)]
    Problem(#[from] PlanError),
}
