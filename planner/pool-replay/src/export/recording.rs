//! A consistent log that is stored as a whole, with its events and their buffers.

use std::collections::BTreeMap;
use std::io::{BufRead, Seek};

use thiserror::Error;

use crate::log::{self, Event, Format, Frames, LogError, Place, Selection};
use crate::replay::{Books, Change, Fault, Live};

/// A buffer, from its allocation to its free.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer {
    pub(super) live: Live,
    /// The numbers of the event that allocated the buffer and of the event that freed it. If the
    /// buffer was never freed, the number of the second event is past the last event.
    pub(super) lower: usize,
    pub(super) upper: usize,
    pub(super) is_freed: bool,
}

/// A consistent log that is stored as a whole, so that it can be written in another form.
///
/// ```
/// use pool_replay::{Format, export::Recording};
/// use std::io::Cursor;
///
/// let log = r#"{"action":"alloc","address":0,"bytes":512}
/// {"action":"free","address":0}"#;
/// let recording = Recording::read(&mut Cursor::new(log), Format::Json)?;
/// let mut problem = Vec::new();
/// recording.write_csv(0, &mut problem)?;
/// assert_eq!(problem, b"id,lower,upper,size\n0,0,1,512\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Recording {
    pub(super) events: Vec<Event>,
    pub(super) frames: Frames,
    /// The buffers of each device, in order of allocation.
    pub(super) devices: BTreeMap<u32, Vec<Buffer>>,
}

/// The reason why a log cannot be exported.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordingError {
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The log contains an impossible event, such as the free of a buffer that is not live.
    #[error("{place}: {message}")]
    Inconsistent {
        /// The position of the event in the log, which is a line, an entry of a trace, or an
        /// operation.
        place: String,
        /// The mistake in the event.
        message: String,
    },
}

impl Recording {
    /// Reads a log in a given format and follows its events. [`Format::of`] detects the format.
    ///
    /// # Errors
    /// Fails if the log cannot be read or is inconsistent.
    pub fn read(
        source: &mut (impl BufRead + Seek),
        format: Format,
    ) -> Result<Self, RecordingError> {
        Self::read_part(source, format, &Selection::default())
    }

    /// Reads a part of a log, in the same way as [`read`](Self::read).
    ///
    /// # Errors
    /// Fails for the same reasons as [`read`](Self::read), or if a part by time is requested but
    /// the events have no times.
    pub fn read_part(
        source: &mut (impl BufRead + Seek),
        format: Format,
        selection: &Selection,
    ) -> Result<Self, RecordingError> {
        let (mut events, mut frames) = (Vec::new(), Frames::new());
        log::read(source, format, selection, &mut frames, &mut |event| events.push(event))?;
        Self::new(events, frames).map_err(|fault| RecordingError::Inconsistent {
            place: fault.event.place.to_string(),
            message: fault.to_string(),
        })
    }

    /// Returns the devices of the log, in ascending order.
    pub fn devices(&self) -> impl Iterator<Item = u32> + '_ {
        self.devices.keys().copied()
    }

    /// Returns the total number of buffers of a device, or 0 if the log does not name the device.
    #[must_use]
    pub fn buffers(&self, device: u32) -> usize {
        self.buffers_of(device).len()
    }

    /// Returns the buffers of a device, in order of allocation.
    pub(super) fn buffers_of(&self, device: u32) -> &[Buffer] {
        self.devices.get(&device).map_or(&[], Vec::as_slice)
    }

    /// Follows the events. The function fails at the first impossible event.
    pub(super) fn new(events: Vec<Event>, frames: Frames) -> Result<Self, Box<Fault>> {
        let mut books: BTreeMap<u32, Books> = BTreeMap::new();
        let mut devices: BTreeMap<u32, Vec<Buffer>> = BTreeMap::new();
        for (index, &event) in events.iter().enumerate() {
            let buffers = devices.entry(event.device).or_default();
            let mut fault = None;
            books.entry(event.device).or_default().enter(
                event,
                &mut |change| note(buffers, change, index, events.len()),
                &mut |kind| fault = fault.or(Some(Fault { kind, event })),
            );
            if let Some(fault) = fault {
                return Err(Box::new(fault));
            }
        }
        Ok(Self { events, frames, devices })
    }

    /// Returns a time for each event. If all events have times that never decrease, the times are
    /// microseconds since the first event. If they do not, the numbers of the events are used as
    /// times.
    pub(super) fn times(&self) -> Vec<u64> {
        let recorded = || self.events.iter().filter_map(|event| event.time);
        let first = recorded().next().unwrap_or(0);
        let mut times = Vec::with_capacity(self.events.len());
        let mut last = Some(0);
        for event in &self.events {
            // A buffer from before the recording has no time, so it begins at the start of the
            // recording.
            let time = match event.time {
                Some(time) => time.checked_sub(first).and_then(|time| u64::try_from(time).ok()),
                None if event.place == Place::Before => Some(0),
                None => None,
            };
            last = last.and_then(|last| time.filter(|&time| time >= last));
            times.push(last.unwrap_or(0));
        }
        if last.is_some() && times.last() > Some(&0) {
            return times;
        }
        (0..).take(self.events.len()).collect()
    }
}

fn note(buffers: &mut Vec<Buffer>, change: Change, index: usize, end: usize) {
    match change {
        Change::Allocated(live) => {
            buffers.push(Buffer { live, lower: index, upper: end, is_freed: false });
        }
        Change::Freed(live) => {
            let at = usize::try_from(live.number).unwrap_or(usize::MAX);
            if let Some(buffer) = buffers.get_mut(at) {
                buffer.upper = index;
                buffer.is_freed = true;
            }
        }
    }
}
