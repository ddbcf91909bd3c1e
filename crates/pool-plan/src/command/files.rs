//! Reads problems and writes plans.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use crate::csv::{self, CsvOptions};
use crate::interval::ProblemFile;
use crate::{GraphBuffer, Violation};
use crate::{GraphRecord, IntervalProblem, Monitor, Options, Plan, PlanError, error_chain};

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::arguments::Solve;

/// A problem of either kind.
#[derive(Debug)]
pub(crate) enum Problem {
    /// Buffers with lifetimes, and the text that they were read from if that was CSV.
    Interval(IntervalProblem, Option<String>),
    /// Buffers of a graph, and what else its record says.
    HappensBefore(GraphRecord),
}

/// Bytes of a file that are read.
const MOST_BYTES: usize = 1 << 28;

/// Which of the two kinds of problem a JSON file holds.
#[derive(Deserialize)]
struct Kind {
    operations: Option<IgnoredAny>,
}

impl Problem {
    /// Reads a file.
    pub(crate) fn read(arguments: &Solve) -> Result<Self, String> {
        let path = &arguments.file;
        let text = read_text(path)?;
        let in_file = |error: String| format!("{} bytes: {error}", text.len());
        if is_json(path) || is_object(&text) {
            return Self::from_json(&text, arguments).map_err(in_file);
        }
        let options = CsvOptions { fixed: arguments.fixed, alignment: arguments.align };
        let problem = csv::read(&text, options).map_err(|error| in_file(error_chain(&error)))?;
        Ok(Self::Interval(problem, Some(text)))
    }

    fn from_json(text: &str, arguments: &Solve) -> Result<Self, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let kind: Kind = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if kind.operations.is_some() {
            let settle = |buffer: &mut GraphBuffer| {
                settle(&mut buffer.alignment, &mut buffer.offset, arguments);
            };
            let record = GraphRecord::from_json_with(text, settle);
            return Ok(Self::HappensBefore(record.map_err(|error| error_chain(&error))?));
        }
        let mut file: ProblemFile =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        for buffer in &mut file.buffers {
            settle(&mut buffer.alignment, &mut buffer.offset, arguments);
        }
        let problem = IntervalProblem::new(file.buffers).map_err(|error| error_chain(&error))?;
        Ok(Self::Interval(problem, None))
    }

    /// How many buffers there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Interval(problem, _) => problem.buffers().len(),
            Self::HappensBefore(record) => record.problem().buffers().len(),
        }
    }

    /// A buffer's name.
    pub(crate) fn id(&self, index: usize) -> &str {
        match self {
            Self::Interval(problem, _) => &problem.buffers()[index].id,
            Self::HappensBefore(record) => &record.problem().buffers()[index].id,
        }
    }

    /// Plans it.
    pub(crate) fn solve(&self, options: &Options, monitor: &Monitor) -> Result<Plan, PlanError> {
        match self {
            Self::Interval(problem, _) => problem.solve_watched(options, monitor),
            Self::HappensBefore(record) => record.problem().solve_watched(options, monitor),
        }
    }

    /// The peak of a plan that the validator accepts.
    pub(crate) fn validate(&self, offsets: &[u64]) -> Result<u64, Violation> {
        match self {
            Self::Interval(problem, _) => problem.validate(offsets),
            Self::HappensBefore(record) => record.problem().validate(offsets),
        }
    }

    /// Writes a plan, as what the file's name says.
    pub(crate) fn write(&self, plan: &Plan, path: &Path) -> Result<(), String> {
        let text = match self {
            _ if is_json(path) => self.json(plan)?,
            Self::Interval(_, Some(text)) => {
                csv::write(text, &plan.offsets).map_err(|error| error_chain(&error))?
            }
            Self::Interval(problem, None) => interval_table(problem, plan),
            Self::HappensBefore(record) => graph_table(record.problem().buffers(), plan),
        };
        std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// The problem, with the offsets of a plan.
    fn json(&self, plan: &Plan) -> Result<String, String> {
        let offsets = || plan.offsets.iter().copied().map(Some);
        let text = match self {
            Self::Interval(problem, _) => {
                let mut buffers = problem.buffers().to_vec();
                buffers.iter_mut().zip(offsets()).for_each(|(one, offset)| one.offset = offset);
                let placed = IntervalProblem::new(buffers).map_err(|error| error_chain(&error))?;
                serde_json::to_string_pretty(&placed)
            }
            Self::HappensBefore(record) => {
                let mut buffers = record.problem().buffers().to_vec();
                buffers.iter_mut().zip(offsets()).for_each(|(one, offset)| one.offset = offset);
                let placed = record.clone().with_buffers(buffers);
                let placed = placed.map_err(|error| error_chain(&error))?;
                // The bytes that were there before say nothing of this plan.
                let placed = match record.capacity() {
                    Some(_) => placed.with_capacity(plan.certificate.peak),
                    None => placed,
                };
                serde_json::to_string_pretty(&placed)
            }
        };
        text.map_err(|error| error.to_string())
    }

    /// Each buffer's size, and the spans in which it is live: of time, or of operations from the
    /// alloc marker to the last free marker.
    pub(crate) fn spans(&self) -> Vec<(u64, Vec<(i64, i64)>)> {
        match self {
            Self::Interval(problem, _) => {
                let spans = problem.buffers().iter();
                spans.map(|buffer| (buffer.size, buffer.live_spans().collect())).collect()
            }
            Self::HappensBefore(record) => {
                let problem = record.problem();
                let end = problem.operations();
                let span = |buffer: &GraphBuffer| {
                    let last = buffer.freed_by.iter().max().map_or(end, |last| last + 1);
                    let number = |operation| i64::try_from(operation).unwrap_or(i64::MAX);
                    (buffer.size, vec![(number(buffer.allocated_by), number(last))])
                };
                problem.buffers().iter().map(span).collect()
            }
        }
    }
}

fn is_json(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
}

/// Whether a text begins as an object of JSON does, and no CSV: a pipe has no name that would say so.
fn is_object(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
}

/// Reads a file up to what is taken of one: it may have no end.
fn read_text(path: &Path) -> Result<String, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let length = file.metadata().map_or(0, |data| data.len());
    let mut bytes = Vec::new();
    let limit = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX);
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() <= MOST_BYTES {
        return String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            format!("this is not UTF-8 from byte {at} on")
        });
    }
    let count = usize::try_from(length).unwrap_or(usize::MAX).max(bytes.len());
    Err(PlanError::TooMany { what: "bytes", count, limit: MOST_BYTES }.to_string())
}

fn settle(alignment: &mut u64, offset: &mut Option<u64>, arguments: &Solve) {
    *alignment = (*alignment).max(arguments.align.unwrap_or(1));
    if !arguments.fixed {
        *offset = None;
    }
}

// Writing to a string cannot fail.
fn interval_table(problem: &IntervalProblem, plan: &Plan) -> String {
    let mut text = "id,lower,upper,size,alignment,gaps,offset\n".to_owned();
    for (buffer, offset) in problem.buffers().iter().zip(&plan.offsets) {
        let gaps = buffer.gaps.iter().map(|gap| format!("{}-{}", gap.lower, gap.upper));
        let gaps = gaps.collect::<Vec<_>>().join(" ");
        let crate::Buffer { id, lower, upper, size, alignment, .. } = buffer;
        let id = csv::quoted(id);
        let _ = writeln!(text, "{id},{lower},{upper},{size},{alignment},{gaps},{offset}");
    }
    text
}

fn graph_table(buffers: &[GraphBuffer], plan: &Plan) -> String {
    let mut text = "id,size,alignment,offset\n".to_owned();
    for (GraphBuffer { id, size, alignment, .. }, offset) in buffers.iter().zip(&plan.offsets) {
        let _ = writeln!(text, "{},{size},{alignment},{offset}", csv::quoted(id));
    }
    text
}
