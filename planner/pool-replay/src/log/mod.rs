//! Reads the logs of allocators as a single sequence of events. The supported logs are RMM's CSV
//! and debug log, PyTorch's snapshots, the output of `CuPy`'s hook, `MiniMalloc`'s CSV, the plans
//! of `TFLite` Micro and XLA, this project's own JSON lines, and its problems in JSON, which
//! captures record.
//!
//! Text is read line by line. A snapshot is read three times. The entries of its traces are stored
//! only if the snapshot is irregular, or if the traces of several devices must be merged by time.

mod archive;
mod cupy;
mod error;
mod event;
mod format;
mod frames;
mod header;
mod json_lines;
mod lines;
mod minimalloc;
mod others;
mod pickle;
mod problem;
mod rmm;
mod rmm_debug;
mod selection;
mod snapshot;
mod source;
mod tflite;
mod xla;

#[cfg(test)]
mod tests;

use std::io::{BufRead, Seek};

use pool_plan::HappensBeforeProblem;

pub use error::LogError;
pub(crate) use event::{Action, Event, Place, Pool};
pub use format::Format;
pub(crate) use frames::{Frame, Frames, Stack};
pub(crate) use json_lines::Writer as JsonWriter;
pub use pickle::PickleError;
pub use selection::Selection;
pub use source::Source;

use others::Others;
use selection::{DeviceOrder, Part};

/// The data of a log in addition to its events.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// The problem of a graph. The edges of the graph order the buffers less strictly than the
    /// sequence of the events does.
    pub(crate) graph: Option<HappensBeforeProblem>,
    /// The number of lines without an event.
    pub(crate) skipped: u64,
}

/// Reads a part of a log, and calls `sink` with each event, in order. The frames to which the
/// events refer are added to `frames`.
///
/// # Errors
/// Fails if the log does not match the format. The error states the line or the byte. Events that
/// precede the error have already been passed on.
pub(crate) fn read(
    source: &mut (impl BufRead + Seek),
    format: Format,
    selection: &Selection,
    frames: &mut Frames,
    sink: &mut dyn FnMut(Event),
) -> Result<Told, LogError> {
    read_in(DeviceOrder::Merged, source, format, selection, frames, sink)
}

/// Reads a part of a log, in the same way as [`read`]. The order of two events of different devices
/// is unspecified, so that the entries of a snapshot need not be stored.
pub(crate) fn read_by_device(
    source: &mut (impl BufRead + Seek),
    format: Format,
    selection: &Selection,
    frames: &mut Frames,
    sink: &mut dyn FnMut(Event),
) -> Result<Told, LogError> {
    // A part begins at the same event for all devices.
    let order = if selection.is_whole() { DeviceOrder::Any } else { DeviceOrder::Merged };
    read_in(order, source, format, selection, frames, sink)
}

fn read_in(
    order: DeviceOrder,
    source: &mut (impl BufRead + Seek),
    format: Format,
    selection: &Selection,
    frames: &mut Frames,
    sink: &mut dyn FnMut(Event),
) -> Result<Told, LogError> {
    let skips = selection.skip_other_lines;
    if selection.is_whole() {
        return read_whole(order, source, format, skips, frames, sink);
    }
    let mut part = Part::new(selection, sink);
    let told = read_whole(order, source, format, skips, frames, &mut |event| part.event(event))?;
    part.end()?;
    // The edges of a graph order all of its buffers, so they do not apply to a part of the log.
    Ok(Told { graph: None, ..told })
}

fn read_whole(
    order: DeviceOrder,
    source: &mut (impl BufRead + Seek),
    format: Format,
    skips: bool,
    frames: &mut Frames,
    sink: &mut dyn FnMut(Event),
) -> Result<Told, LogError> {
    let mut others = Others::new(skips);
    let mut graph = None;
    match format {
        Format::Rmm => rmm::read(source, &mut others, sink)?,
        Format::RmmDebug => rmm_debug::read(source, &mut others, sink)?,
        Format::Pytorch => snapshot::read(source, order, frames, sink)?,
        Format::Cupy => cupy::read(source, &mut others, sink)?,
        Format::Minimalloc => minimalloc::read(source, sink)?,
        Format::Tflite => minimalloc::replay(&tflite::read(source, &mut others)?, sink),
        Format::Xla => xla::read(source, &mut others, sink)?,
        Format::Json => json_lines::read(source, &mut others, frames, sink)?,
        Format::Problem => graph = problem::read(source, frames, sink)?,
    }
    Ok(Told { graph, skipped: others.skipped })
}
