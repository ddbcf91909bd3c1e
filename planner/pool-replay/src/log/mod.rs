//! Logs of allocators, read as one sequence of events: RMM's CSV, PyTorch's snapshots, `MiniMalloc`'s CSV, this project's
//! own log, JSON lines, and its problems in JSON, which captures record.
//!
//! Text is read a line at a time. A snapshot is read twice, and only what a replay needs of it is kept.

mod error;
mod event;
mod format;
mod frames;
mod json_lines;
mod lines;
mod minimalloc;
mod pickle;
mod problem;
mod rmm;
mod snapshot;

#[cfg(test)]
mod tests;

use std::io::{BufRead, Seek};

use pool_plan::HappensBeforeProblem;

pub use error::LogError;
pub(crate) use event::{Action, Event, Place};
pub use format::Format;
pub(crate) use frames::{Frames, Stack};
pub(crate) use json_lines::Line;
pub use pickle::PickleError;

/// Reads a log, and calls `sink` with each event, in order. The frames that the events name go to `frames`. Of a graph
/// the problem is answered: its buffers are ordered by less than the sequence of the events.
///
/// # Errors
/// If the log is not of the format, with the line or the byte; events before it have been passed on.
pub(crate) fn read(
    source: &mut (impl BufRead + Seek),
    format: Format,
    frames: &mut Frames,
    sink: &mut dyn FnMut(Event),
) -> Result<Option<HappensBeforeProblem>, LogError> {
    match format {
        Format::Rmm => rmm::read(source, sink)?,
        Format::Pytorch => snapshot::read(source, frames, sink)?,
        Format::Minimalloc => minimalloc::read(source, sink)?,
        Format::Json => json_lines::read(source, frames, sink)?,
        Format::Problem => return problem::read(source, frames, sink),
    }
    Ok(None)
}
