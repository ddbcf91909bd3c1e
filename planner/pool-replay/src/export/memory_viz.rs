//! Writes a snapshot in the form of `torch.cuda.memory._dump_snapshot`, which the viewer and
//! `_memory_viz.py` read.
//!
//! The trace contains the recorded events, with the requested sizes. A log contains no segments, or
//! only the total size of the segments from before its recording. The segments of the snapshot are
//! therefore the address ranges that buffers have ever used, together with the blocks that are live
//! at the end. Ranges that touch are joined.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Write};

use crate::log::{Action, Event, Place, Pool, Stack};

use super::pickler::Pickler;
use super::recording::{Buffer, Recording};

/// The maximum number of devices in a snapshot. A snapshot contains a list for each device number
/// up to the highest one.
const MOST_DEVICES: u32 = 1 << 10;

/// Writes a snapshot.
pub(super) fn write(recording: &Recording, to: impl Write) -> io::Result<()> {
    let devices = recording.devices.last_key_value().map_or(1, |(&last, _)| last.saturating_add(1));
    if devices > MOST_DEVICES {
        let message = format!(
            "the log has {devices} devices, but a snapshot can have at most {MOST_DEVICES}"
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    for event in &recording.events {
        check(event)?;
    }
    let mut writer = Writer {
        pickler: Pickler::new(to)?,
        recording,
        stacks: HashMap::new(),
        requested: HashSet::new(),
    };
    writer.snapshot(devices)?;
    writer.pickler.stop()
}

/// Refuses numbers that are too large for the viewer, which adds addresses and sizes as 63-bit
/// integers.
fn check(event: &Event) -> io::Result<()> {
    let Event { address, bytes, place, .. } = *event;
    let end = address.checked_add(bytes).filter(|&end| i64::try_from(end).is_ok());
    let has_address = !matches!(event.action, Action::Fail);
    if end.is_some() || !has_address && i64::try_from(bytes).is_ok() {
        return Ok(());
    }
    let message = format!(
        "{place}: {bytes} bytes at {address:#x} end beyond 2^63 - 1, the largest address of a \
         snapshot: export to json or perfetto instead"
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// A range of addresses, and its live blocks sorted by address.
struct Segment<'a> {
    start: u64,
    end: u64,
    stream: u64,
    /// The pool of all buffers in the segment. If buffers of several pools have used the same
    /// addresses, the pool is the default pool.
    pool: Pool,
    live: BTreeMap<u64, &'a Buffer>,
}

/// Returns the segments of a device.
fn segments(buffers: &[Buffer]) -> Vec<Segment<'_>> {
    let mut by_address: Vec<&Buffer> = buffers.iter().collect();
    by_address.sort_by_key(|buffer| buffer.live.event.address);
    let mut segments: Vec<Segment<'_>> = Vec::new();
    for buffer in by_address {
        let Event { address, bytes, stream, pool, .. } = buffer.live.event;
        // The addition cannot overflow, because `check` has already checked the event.
        let end = address + bytes;
        // Ranges of different pools are joined only if they overlap.
        let is_joined = |last: &&mut Segment<'_>| {
            address < last.end || address == last.end && pool == last.pool
        };
        match segments.last_mut().filter(is_joined) {
            Some(last) => {
                last.end = last.end.max(end);
                last.pool = if pool == last.pool { pool } else { Pool::DEFAULT };
            }
            None => {
                let live = BTreeMap::new();
                segments.push(Segment { start: address, end, stream, pool, live });
            }
        }
        if let Some(last) = segments.last_mut().filter(|_| !buffer.is_freed) {
            last.live.insert(address, buffer);
        }
    }
    segments
}

struct Writer<'a, W> {
    pickler: Pickler<W>,
    recording: &'a Recording,
    /// The position of each list of frames in the memo.
    stacks: HashMap<Stack, u32>,
    /// Buffers whose free was requested but has not completed, identified by device and address.
    requested: HashSet<(u32, u64)>,
}

impl<W: Write> Writer<'_, W> {
    fn snapshot(&mut self, devices: u32) -> io::Result<()> {
        let recording = self.recording;
        self.pickler.dict_start()?;
        self.pickler.text("segments")?;
        let all = recording.devices.iter().flat_map(|(&device, buffers)| {
            segments(buffers).into_iter().map(move |segment| (device, segment))
        });
        self.pickler.list_start()?;
        for (device, segment) in all {
            self.segment(device, &segment)?;
            self.pickler.append()?;
        }
        self.pickler.text("device_traces")?;
        self.pickler.list_start()?;
        for device in 0..devices {
            self.trace(device)?;
            self.pickler.append()?;
        }
        self.pickler.dict_end()
    }

    fn segment(&mut self, device: u32, segment: &Segment<'_>) -> io::Result<()> {
        let total = segment.end - segment.start;
        let sum = |bytes: fn(&Event) -> u64| {
            segment.live.values().map(|one| bytes(&one.live.event)).sum::<u64>()
        };
        let (allocated, requested) = (sum(|event| event.bytes), sum(Event::asked));
        self.pickler.dict_start()?;
        self.number("device", device)?;
        self.number("address", segment.start)?;
        self.number("total_size", total)?;
        self.number("allocated_size", allocated)?;
        self.number("active_size", allocated)?;
        self.number("requested_size", requested)?;
        self.stream(segment.stream)?;
        self.word("segment_type", "large")?;
        if segment.pool != Pool::DEFAULT {
            self.pickler.text("segment_pool_id")?;
            self.pickler.int(segment.pool.0.into())?;
            self.pickler.int(segment.pool.1.into())?;
            self.pickler.pair()?;
        }
        self.pickler.text("blocks")?;
        self.pickler.list_start()?;
        let mut free_from = segment.start;
        for (&address, buffer) in &segment.live {
            self.inactive(free_from, address)?;
            let event = buffer.live.event;
            self.block(address, event.bytes, event.asked(), "active_allocated", event.stack)?;
            free_from = address + event.bytes;
        }
        self.inactive(free_from, segment.end)?;
        self.pickler.dict_end()
    }

    fn inactive(&mut self, start: u64, end: u64) -> io::Result<()> {
        if start < end {
            self.block(start, end - start, 0, "inactive", Stack::default())?;
        }
        Ok(())
    }

    fn block(
        &mut self,
        address: u64,
        size: u64,
        requested: u64,
        state: &str,
        stack: Stack,
    ) -> io::Result<()> {
        self.pickler.dict_start()?;
        self.number("address", address)?;
        self.number("size", size)?;
        self.number("requested_size", requested)?;
        self.word("state", state)?;
        self.frames(stack)?;
        self.pickler.dict_end()?;
        self.pickler.append()
    }

    fn trace(&mut self, device: u32) -> io::Result<()> {
        self.pickler.list_start()?;
        let recording = self.recording;
        let events = recording.events.iter().filter(|event| event.device == device);
        for event in events.filter(|event| event.place != Place::Before) {
            let key = (device, event.address);
            match event.action {
                Action::Allocate => self.entry("alloc", event)?,
                Action::Fail => self.entry("oom", event)?,
                Action::Reserve | Action::Release | Action::ReleasePool => {}
                Action::RequestFree => {
                    self.requested.insert(key);
                    self.entry("free_requested", event)?;
                }
                Action::Free => {
                    if !self.requested.remove(&key) {
                        self.entry("free_requested", event)?;
                    }
                    self.entry("free_completed", event)?;
                }
            }
        }
        Ok(())
    }

    fn entry(&mut self, action: &str, event: &Event) -> io::Result<()> {
        self.pickler.dict_start()?;
        self.word("action", action)?;
        self.number("addr", event.address)?;
        self.number("size", event.asked())?;
        self.stream(event.stream)?;
        if let Some(time) = event.time {
            self.number("time_us", time)?;
        }
        if action == "oom" {
            // The free memory of the device is not known.
            self.number("device_free", 0)?;
        }
        self.frames(event.stack)?;
        self.pickler.dict_end()?;
        self.pickler.append()
    }

    fn number(&mut self, key: &str, number: impl Into<i128>) -> io::Result<()> {
        self.pickler.text(key)?;
        self.pickler.int(number.into())
    }

    /// Converts the handle of a stream to a signed integer, because PyTorch writes handles as
    /// signed integers.
    fn stream(&mut self, stream: u64) -> io::Result<()> {
        self.number("stream", i64::from_le_bytes(stream.to_le_bytes()))
    }

    fn word(&mut self, key: &str, text: &str) -> io::Result<()> {
        self.pickler.text(key)?;
        self.pickler.text(text)
    }

    fn frames(&mut self, stack: Stack) -> io::Result<()> {
        self.pickler.text("frames")?;
        if let Some(&number) = self.stacks.get(&stack) {
            return self.pickler.get(number);
        }
        let recording = self.recording;
        self.pickler.list_start()?;
        let number = self.pickler.put()?;
        for (filename, line, name) in recording.frames.frames(stack) {
            self.pickler.dict_start()?;
            self.word("filename", filename)?;
            self.number("line", line)?;
            self.word("name", name)?;
            self.pickler.dict_end()?;
            self.pickler.append()?;
        }
        self.stacks.insert(stack, number);
        Ok(())
    }
}
