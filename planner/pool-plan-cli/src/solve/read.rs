//! Reads a problem file, which is CSV or a JSON problem of any kind.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use pool_plan::{GraphRecord, IntervalProblem, Memory, MemoryProblem, PlanError, error_chain};
use pool_replay::csv::{self, CsvOptions};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::arguments::Solve;

use super::memories::Memories;
use super::problem::{Problem, is_json};

/// The maximum number of bytes of a file that are read.
const MOST_BYTES: usize = 1 << 28;

/// The keys that distinguish the kinds of problem in a JSON file.
#[derive(Deserialize)]
struct Kind {
    operations: Option<IgnoredAny>,
    memories: Option<IgnoredAny>,
}

/// The contents of a problem file.
pub(super) enum Contents {
    /// A problem with one memory.
    One(Problem),
    /// A problem with several memories.
    Several(Memories),
}

/// Reads the file that the arguments name.
pub(super) fn read(arguments: &Solve) -> Result<Contents, String> {
    let path = &arguments.file;
    let text = read_text(path)?;
    let in_file = |error: String| format!("{} bytes: {error}", text.len());
    if is_json(path) || is_object(&text) {
        return from_json(&text, arguments).map_err(in_file);
    }
    let options = CsvOptions { fixed: arguments.fixed, alignment: arguments.align };
    let located = |error: csv::CsvError| in_file(error_chain(&error));
    if !arguments.memories.is_empty() {
        let memories = arguments.memories.clone();
        let problem = csv::read_memories(&text, options, memories).map_err(located)?;
        return Ok(Contents::Several(Memories { problem, text: Some(text) }));
    }
    let problem = csv::read(&text, options).map_err(located)?;
    Ok(Contents::One(Problem::Interval(problem, Some(text))))
}

fn from_json(text: &str, arguments: &Solve) -> Result<Contents, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let kind: Kind = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if kind.memories.is_some() {
        return several(text, arguments);
    }
    if !arguments.memories.is_empty() {
        return Err(
            "--memory requires memories in the JSON file: add the key \"memories\" to the file"
                .to_owned(),
        );
    }
    if kind.operations.is_some() {
        let record = GraphRecord::from_json_with(text, |buffer| {
            settle(&mut buffer.alignment, &mut buffer.offset, arguments);
        });
        return record
            .map(Problem::HappensBefore)
            .map(Contents::One)
            .map_err(|error| error_chain(&error));
    }
    let mut source = serde_json::Deserializer::from_str(text);
    let problem = IntervalProblem::deserialize_with(&mut source, |buffer| {
        settle(&mut buffer.alignment, &mut buffer.offset, arguments);
    });
    let problem = problem.map_err(|error| error.to_string())?;
    Ok(Contents::One(Problem::Interval(problem, None)))
}

/// Builds a problem with several memories. Memories in the arguments replace those of the same name
/// in the file.
fn several(text: &str, arguments: &Solve) -> Result<Contents, String> {
    if arguments.capacity.is_some() {
        return Err("--capacity cannot be used with several memories: limit each memory with \
                    --memory NAME:BYTES"
            .to_owned());
    }
    let mut unknown = None;
    let mut source = serde_json::Deserializer::from_str(text);
    let problem = MemoryProblem::deserialize_with(&mut source, |memories, buffers| {
        for given in &arguments.memories {
            match memories.iter_mut().find(|memory| memory.name == given.name) {
                Some(memory) => memory.clone_from(given),
                None => unknown = Some(given),
            }
        }
        for one in buffers {
            settle(&mut one.buffer.alignment, &mut one.buffer.offset, arguments);
            if !arguments.fixed {
                one.memory = None;
            }
        }
    });
    if let Some(Memory { name, .. }) = unknown {
        return Err(format!("--memory: the file has no memory {name:?}"));
    }
    let problem = problem.map_err(|error| error.to_string())?;
    Ok(Contents::Several(Memories { problem, text: None }))
}

/// Applies `--align` and `--fixed` to a buffer before it is validated.
fn settle(alignment: &mut u64, offset: &mut Option<u64>, arguments: &Solve) {
    *alignment = (*alignment).max(arguments.align.unwrap_or(1));
    if !arguments.fixed {
        *offset = None;
    }
}

/// Returns `true` if a text starts like a JSON object, which a CSV file never does. The name of a
/// pipe has no extension that distinguishes the formats.
fn is_object(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_start().starts_with('{')
}

/// Reads a file up to the maximum number of bytes, because a file such as a pipe may have no end.
fn read_text(path: &Path) -> Result<String, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let length = file.metadata().map_or(0, |data| data.len());
    let mut bytes = Vec::new();
    let limit = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX);
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() <= MOST_BYTES {
        return String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            format!("the file is not UTF-8 at byte {at}")
        });
    }
    let count = usize::try_from(length).unwrap_or(usize::MAX).max(bytes.len());
    Err(PlanError::TooMany { what: "bytes of text", count, limit: MOST_BYTES }.to_string())
}
