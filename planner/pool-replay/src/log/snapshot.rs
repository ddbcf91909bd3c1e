//! Reads PyTorch's memory snapshots as a log. A snapshot has the form `{segments: [{address,
//! total_size, stream, device, segment_pool_id, blocks}], device_traces: [[{action, addr, size,
//! stream, frames, time_us}]]}`, or is only the list of segments.
//!
//! A trace contains the last part of the history, and the segments describe the state at its end. A
//! buffer was live before the trace if the trace frees it without an allocation, or if it is live
//! at the end and the trace does not allocate it. Buffers that were live before the trace come
//! first. If all entries have times, the traces of several devices are merged by time.
//!
//! The entries are read once for the state before the traces, and again for the events. They are
//! stored only if the snapshot is irregular, or if the traces of several devices must be merged.

mod before;
mod contents;
mod entry;
mod segments;
mod stored;
mod streamed;

use std::io::{BufRead, Seek};

use super::error::LogError;
use super::event::Event;
use super::frames::Frames;
use super::pickle;
use super::selection::DeviceOrder;

/// Reads a snapshot.
pub(super) fn read(
    source: &mut (impl BufRead + Seek),
    order: DeviceOrder,
    frames: &mut Frames,
    sink: &mut dyn FnMut(Event),
) -> Result<(), LogError> {
    let mut pickle = pickle::Reader::new(source, frames)?;
    if streamed::read(&mut pickle, order, frames, sink)? {
        return Ok(());
    }
    stored::read(&mut pickle, frames, sink)
}

/// Reads a snapshot in the same way as `read`, but stores all of its entries first.
#[cfg(test)]
pub(super) fn read_stored(
    source: &mut (impl BufRead + Seek),
    frames: &mut Frames,
    sink: &mut dyn FnMut(Event),
) -> Result<(), LogError> {
    stored::read(&mut pickle::Reader::new(source, frames)?, frames, sink)
}
