//! The errors in a log, with their positions.

use std::io;

use pool_plan::PlanError;
use thiserror::Error;

use super::pickle::PickleError;
use crate::csv::CsvError;

/// The reason why a log cannot be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LogError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The first bytes match no known format.
    #[error(
        "the format of the log is unknown: the file is not RMM's CSV, a PyTorch snapshot, \
         MiniMalloc's CSV, JSON lines, a problem in JSON, the output of CuPy's hook, or a memory \
         plan of TFLite Micro or XLA{}; set the format with --from",
        nearest.as_ref().map_or_else(String::new, |name| format!(" (the closest format is {name})"))
    )]
    UnknownFormat {
        /// The nearest format, and the parts of this format that are missing from the first bytes.
        nearest: Option<String>,
    },
    /// The file is an archive that contains no readable snapshot.
    #[error("the archive cannot be read: {message}")]
    Archive {
        /// The mistake in the archive.
        message: String,
    },
    /// A part of the log by time was requested, but the events have no times.
    #[error("the events of the log have no times: select a part by event numbers instead")]
    NoTimes,
    /// A problem in JSON refers to an operation that does not exist, or one of its lists has the
    /// wrong number of entries.
    #[error("{place}: {message}")]
    Problem {
        /// The name of the buffer, edge or list that contains the mistake.
        place: String,
        /// The mistake.
        message: String,
    },
    /// A line of a text does not match the format.
    #[error("line {line}: {message}")]
    Line {
        /// The number of the line, starting at 1.
        line: u64,
        /// The mistake.
        message: String,
    },
    /// The bytes are not a pickle, or are a pickle that does more than build data.
    #[error("byte {offset}")]
    Pickle {
        /// The offset of the opcode.
        offset: u64,
        /// The mistake.
        #[source]
        error: PickleError,
    },
    /// The pickle is not a snapshot by PyTorch.
    #[error("{place}: {message}")]
    Snapshot {
        /// The part of the snapshot that contains the mistake.
        place: String,
        /// The mistake.
        message: String,
    },
    /// The file of buffers cannot be read.
    #[error("the buffers cannot be planned")]
    Csv(#[from] CsvError),
    /// The buffers are not a valid problem.
    #[error("the buffers cannot be planned")]
    Buffers(#[from] PlanError),
}

impl LogError {
    /// Returns the error of a JSON file.
    pub(super) fn json(error: &serde_json::Error) -> Self {
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        // An error that concerns the whole object has no position.
        match (u64::try_from(error.line()), error.column()) {
            (Ok(0) | Err(_), _) => Self::line(1, message),
            (Ok(line), column) => Self::line(line, format!("column {column}: {message}")),
        }
    }

    /// Returns the error of a line of JSON. The parser only sees a single line, so that it always
    /// reports line 1.
    pub(super) fn in_line(error: &serde_json::Error) -> String {
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        format!("column {}: {message}", error.column())
    }

    /// Returns an error of a line.
    pub(super) fn line(line: u64, message: impl Into<String>) -> Self {
        Self::Line { line, message: message.into() }
    }
}
