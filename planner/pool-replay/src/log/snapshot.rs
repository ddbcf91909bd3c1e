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
mod entry;
mod segments;
mod stored;
mod streamed;

use std::io::{BufRead, Seek};

use super::DeviceOrder;
use super::error::LogError;
use super::event::Event;
use super::frames::Frames;
use super::pickle::{self, Field, Pickle, Value};

/// The maximum number of devices in a snapshot.
const MOST_DEVICES: u32 = 1 << 16;

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

fn wrong(place: impl Into<String>, message: impl Into<String>) -> LogError {
    LogError::Snapshot { place: place.into(), message: message.into() }
}

/// The order in which the events of several devices are passed on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Order {
    /// The events are sorted by time. All events have times, and the times of each device never
    /// decrease.
    Times,
    /// All events of one device come before the events of the next device.
    Devices,
}

/// Returns the traces of the devices.
fn traces(pickle: &Pickle) -> Result<&[Value], LogError> {
    // If the pickle is only a list of segments, it contains no traces.
    if pickle.list(&pickle.root).is_some() {
        return Ok(&[]);
    }
    let root = pickle.dict(&pickle.root);
    let root =
        root.ok_or_else(|| wrong("the snapshot", "the root is neither a dictionary nor a list"))?;
    let Some(traces) = root.get(Field::DeviceTraces) else {
        if root.get(Field::Segments).is_some() {
            return Ok(&[]);
        }
        return Err(wrong("the snapshot", "the dictionary has neither segments nor device_traces"));
    };
    let traces =
        pickle.list(traces).ok_or_else(|| wrong("device_traces", "the value is not a list"))?;
    if traces.len() > MOST_DEVICES as usize {
        return Err(wrong(
            "device_traces",
            format!("the snapshot has more than {MOST_DEVICES} devices"),
        ));
    }
    Ok(traces)
}
