//! The parts of a snapshot's contents that all readers need: the list of its traces, and errors.

use super::super::error::LogError;
use super::super::pickle::{Field, Pickle, Value};

/// The maximum number of devices in a snapshot.
pub(super) const MOST_DEVICES: u32 = 1 << 16;

/// Returns an error in a part of the snapshot.
pub(super) fn wrong(place: impl Into<String>, message: impl Into<String>) -> LogError {
    LogError::Snapshot { place: place.into(), message: message.into() }
}

/// Returns the traces of the devices.
pub(super) fn traces(pickle: &Pickle) -> Result<&[Value], LogError> {
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
