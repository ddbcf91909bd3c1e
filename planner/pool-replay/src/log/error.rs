//! What is wrong with a log, and where.

use std::io;

use pool_plan::PlanError;
use thiserror::Error;

use super::pickle::PickleError;
use crate::csv::CsvError;

/// Why a log cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LogError {
    /// The file cannot be read.
    #[error("the file cannot be read")]
    Io(#[from] io::Error),
    /// The first bytes are those of no format that is known.
    #[error(
        "this is no log that is known: neither RMM's CSV, nor a PyTorch snapshot, nor MiniMalloc's CSV, nor JSON \
         lines, nor a problem in JSON; --from says which one it is"
    )]
    UnknownFormat,
    /// A line of a text is not as the format has it.
    #[error("line {line}: {message}")]
    Line {
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        message: String,
    },
    /// The bytes are no pickle, or one that does more than build data.
    #[error("byte {offset}")]
    Pickle {
        /// The offset of the opcode.
        offset: u64,
        /// What is wrong there.
        #[source]
        error: PickleError,
    },
    /// The pickle is not a snapshot of PyTorch's.
    #[error("{place}: {message}")]
    Snapshot {
        /// The part of the snapshot.
        place: String,
        /// What is wrong with it.
        message: String,
    },
    /// The file of buffers cannot be read.
    #[error("these are no buffers that can be planned")]
    Csv(#[from] CsvError),
    /// The buffers are no problem.
    #[error("these are no buffers that can be planned")]
    Buffers(#[from] PlanError),
}

impl LogError {
    /// What is wrong with a JSON file.
    pub(super) fn json(error: &serde_json::Error) -> Self {
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        // What is wrong with the object as a whole has no place in it.
        match (u64::try_from(error.line()), error.column()) {
            (Ok(0) | Err(_), _) => Self::line(1, message),
            (Ok(line), column) => Self::line(line, format!("column {column}: {message}")),
        }
    }

    /// An error of a line.
    pub(super) fn line(line: u64, message: impl Into<String>) -> Self {
        Self::Line { line, message: message.into() }
    }
}
