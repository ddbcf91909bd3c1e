//! The record of a captured graph, in a form suitable for storage in a file. A record contains a
//! graph problem, the offsets of a plan, and information for human readers. `pool-plan solve`,
//! `pool-plan replay`, and `pool-plan export` read record files.

use std::io::{self, Write};

use crate::error::{PlanError, error_chain};
use crate::graph::{Edge, GraphBuffer};
use crate::happens_before::HappensBeforeProblem;

/// The source location from which a buffer was requested.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Caller {
    /// The source file.
    pub filename: String,
    /// The line number in the file, starting at 1. The value is 0 if the line number is unknown.
    pub line: u32,
    /// The function that contains the location.
    pub name: String,
}

/// A graph problem with information about the graph. The information consists of the buffers'
/// offsets, the buffers' callers, and the operations' streams.
///
/// A record is stored as one JSON object. The object has the format of a [`HappensBeforeProblem`]
/// whose buffers may contain offsets, and may contain the additional keys `capacity`, `streams`,
/// and `callers`.
///
/// ```
/// use pool_plan::{Edge, GraphBuffer, GraphRecord, HappensBeforeProblem, Options};
///
/// let buffers = vec![GraphBuffer::new("a", 512, 0, [1]), GraphBuffer::new("b", 256, 2, [2])];
/// let edges = vec![Edge::full(0, 1), Edge::full(1, 2)];
/// let problem = HappensBeforeProblem::new(3, edges, buffers)?;
/// let plan = problem.solve(&Options::default())?;
///
/// let record = GraphRecord::new(problem).with_offsets(&plan.offsets)?.with_streams(vec![0, 0, 1])?;
/// let mut file = Vec::new();
/// record.write_to(&mut file)?;
/// assert_eq!(GraphRecord::from_json(std::str::from_utf8(&file)?)?, record);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(try_from = "RecordFile", into = "RecordFile")]
pub struct GraphRecord {
    problem: HappensBeforeProblem,
    capacity: Option<u64>,
    streams: Vec<u32>,
    callers: Vec<Caller>,
}

impl GraphRecord {
    /// Creates a record that contains only the given problem.
    #[must_use]
    pub fn new(problem: HappensBeforeProblem) -> Self {
        Self { problem, capacity: None, streams: Vec::new(), callers: Vec::new() }
    }

    /// Returns the record with its buffers placed at the given offsets in bytes. There must be
    /// exactly one offset per buffer.
    ///
    /// # Errors
    ///
    /// Returns [`PlanError::Rejected`] if the offsets are not a valid plan for the problem.
    pub fn with_offsets(self, offsets: &[u64]) -> Result<Self, PlanError> {
        self.problem.validate(offsets).map_err(PlanError::Rejected)?;
        let mut buffers = self.problem.buffers().to_vec();
        buffers.iter_mut().zip(offsets).for_each(|(one, &offset)| one.offset = Some(offset));
        self.with_buffers(buffers)
    }

    /// Returns the record with its buffers replaced. The new buffers may have different sizes,
    /// alignments, or offsets, but the number of buffers must stay the same.
    ///
    /// # Errors
    ///
    /// Returns [`PlanError::WrongCount`] if the number of buffers differs. Returns the same errors
    /// as [`HappensBeforeProblem::new`] if the problem is invalid.
    pub fn with_buffers(self, buffers: Vec<GraphBuffer>) -> Result<Self, PlanError> {
        check_count("buffers", buffers.len(), self.problem.buffers().len())?;
        let (operations, edges) = (self.problem.operations(), self.problem.edges().to_vec());
        Ok(Self { problem: HappensBeforeProblem::new(operations, edges, buffers)?, ..self })
    }

    /// Returns the record with the given capacity, which is the total number of bytes available for
    /// all buffers.
    #[must_use]
    pub fn with_capacity(self, bytes: u64) -> Self {
        Self { capacity: Some(bytes), ..self }
    }

    /// Returns the record with the given stream for each operation.
    ///
    /// # Errors
    ///
    /// Returns [`PlanError::WrongCount`] if the number of streams differs from the number of
    /// operations.
    pub fn with_streams(self, streams: Vec<u32>) -> Result<Self, PlanError> {
        check_count("streams", streams.len(), self.problem.operations())?;
        Ok(Self { streams, ..self })
    }

    /// Returns this record with each buffer's caller set to the given value.
    ///
    /// # Errors
    ///
    /// Returns [`PlanError::WrongCount`] if the number of callers differs from the number of
    /// buffers.
    pub fn with_callers(self, callers: Vec<Caller>) -> Result<Self, PlanError> {
        check_count("callers", callers.len(), self.problem.buffers().len())?;
        Ok(Self { callers, ..self })
    }

    /// Returns the problem with each buffer fixed at its recorded offset. Call
    /// [`without_offsets`](HappensBeforeProblem::without_offsets) to plan the buffers again.
    #[must_use]
    pub fn problem(&self) -> &HappensBeforeProblem {
        &self.problem
    }

    /// Returns the offset of each buffer in bytes, or `None` if any buffer has no offset.
    #[must_use]
    pub fn offsets(&self) -> Option<Vec<u64>> {
        self.problem.buffers().iter().map(|buffer| buffer.offset).collect()
    }

    /// Returns the total number of bytes available for all buffers.
    #[must_use]
    pub fn capacity(&self) -> Option<u64> {
        self.capacity
    }

    /// Returns an operation's stream, if it is known.
    #[must_use]
    pub fn stream(&self, operation: usize) -> Option<u32> {
        self.streams.get(operation).copied()
    }

    /// Returns the caller that requested a buffer, if it is known.
    #[must_use]
    pub fn caller(&self, buffer: usize) -> Option<&Caller> {
        self.callers.get(buffer).filter(|caller| **caller != Caller::default())
    }

    /// Writes the record as one line of JSON.
    ///
    /// # Errors
    ///
    /// Returns an error if the writer fails.
    pub fn write_to(&self, mut to: impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut to, self)?;
        writeln!(to)?;
        to.flush()
    }

    /// Reads a record.
    ///
    /// # Errors
    ///
    /// Returns [`PlanError::Parse`] with the line and column if the text is not a record's JSON
    /// object. Returns the same errors as [`HappensBeforeProblem::new`] if the problem is invalid.
    /// Returns [`PlanError::WrongCount`] if a list has the wrong length.
    pub fn from_json(text: &str) -> Result<Self, PlanError> {
        Self::from_json_with(text, |_| ())
    }

    /// Reads a record and passes each buffer to a closure that may change it before it is
    /// validated. For example, the closure may increase alignments or remove fixed offsets.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`from_json`](Self::from_json).
    pub fn from_json_with(
        text: &str,
        change: impl FnMut(&mut GraphBuffer),
    ) -> Result<Self, PlanError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut file: RecordFile = serde_json::from_str(text).map_err(|error| {
            let message = error.to_string();
            let message = message.split(" at line ").next().unwrap_or_default().to_owned();
            PlanError::Parse { line: error.line(), column: error.column(), message }
        })?;
        file.buffers.iter_mut().for_each(change);
        Self::of_file(file)
    }

    fn of_file(file: RecordFile) -> Result<Self, PlanError> {
        let problem = HappensBeforeProblem::new(file.operations, file.edges, file.buffers)?;
        let mut record = Self { capacity: file.capacity, ..Self::new(problem) };
        if !file.streams.is_empty() {
            record = record.with_streams(file.streams)?;
        }
        if !file.callers.is_empty() {
            record = record.with_callers(file.callers)?;
        }
        Ok(record)
    }
}

fn check_count(what: &'static str, count: usize, expected: usize) -> Result<(), PlanError> {
    if count == expected {
        return Ok(());
    }
    Err(PlanError::WrongCount { what, count, expected })
}

/// The contents of a record file before validation.
#[derive(serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
struct RecordFile {
    operations: usize,
    #[serde(deserialize_with = "crate::lists::edges")]
    edges: Vec<Edge>,
    #[serde(deserialize_with = "crate::lists::graph_buffers")]
    buffers: Vec<GraphBuffer>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    capacity: Option<u64>,
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "crate::lists::streams"
    )]
    streams: Vec<u32>,
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "crate::lists::graph_buffers"
    )]
    callers: Vec<Caller>,
}

impl TryFrom<RecordFile> for GraphRecord {
    /// This type's error text includes all of the error's sources because a serde format can report
    /// an error only as text.
    type Error = String;

    fn try_from(file: RecordFile) -> Result<Self, String> {
        Self::of_file(file).map_err(|error| error_chain(&error))
    }
}

impl From<GraphRecord> for RecordFile {
    fn from(record: GraphRecord) -> Self {
        let GraphRecord { problem, capacity, streams, callers } = record;
        let (operations, edges) = (problem.operations(), problem.edges().to_vec());
        Self { operations, edges, buffers: problem.buffers().to_vec(), capacity, streams, callers }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests: a check that fails panics")]
mod tests {
    use super::{Caller, GraphRecord};
    use crate::error::PlanError;
    use crate::graph::{Edge, GraphBuffer};
    use crate::happens_before::HappensBeforeProblem;

    fn record() -> GraphRecord {
        let buffers = vec![GraphBuffer::new("a", 8, 0, [1]), GraphBuffer::new("b", 8, 2, [2])];
        let edges = vec![Edge::full(0, 1), Edge::full(1, 2)];
        GraphRecord::new(HappensBeforeProblem::new(3, edges, buffers).unwrap())
    }

    #[test]
    fn what_does_not_belong_to_the_problem_is_refused() {
        let caller = Caller { filename: "a.rs".to_owned(), line: 3, name: "acquire".to_owned() };
        assert!(record().with_offsets(&[0, 0]).is_ok(), "one is over before the other begins");
        assert!(matches!(record().with_offsets(&[0]), Err(PlanError::Rejected(_))));
        let count = |what, count, expected| Err(PlanError::WrongCount { what, count, expected });
        assert_eq!(record().with_streams(vec![0, 1]), count("streams", 2, 3));
        assert_eq!(record().with_callers(vec![caller.clone()]), count("callers", 1, 2));
        let known = record().with_callers(vec![caller.clone(), Caller::default()]).unwrap();
        assert_eq!(
            (known.caller(0), known.caller(1), known.caller(2)),
            (Some(&caller), None, None)
        );
    }

    #[test]
    fn files_that_are_no_records_say_where() {
        let of = |keys: &str| {
            let file = format!(
                "{{\"operations\":1,\"edges\":[],\n\"buffers\":[{{\"id\":\"a\",\"size\":8,\
                 \"allocated_by\":0}}]{keys}}}"
            );
            GraphRecord::from_json(&file)
        };
        assert_eq!(of("").unwrap().stream(0), None);
        assert_eq!(of(",\"streams\":[7]").unwrap().stream(0), Some(7));
        let count = Err(PlanError::WrongCount { what: "streams", count: 2, expected: 1 });
        assert_eq!(of(",\"streams\":[0,0]"), count);
        for (keys, text) in [
            (",\"stream\":[0]", "unknown field `stream`"),
            (",\"streams\":[-1]", "invalid value"),
            (",\"callers\":[{\"file\":1}]", "unknown field `file`"),
        ] {
            let Err(PlanError::Parse { line, column, message }) = of(keys) else {
                panic!("{keys}")
            };
            assert_eq!((line, message.contains(text)), (2, true), "{message}");
            assert!(column > 40 && !message.contains("column"), "{column}: {message}");
        }
    }
}
