//! A trace in Chrome's JSON format, which Perfetto reads. Counters show the live bytes of each
//! device and stream, and spans show the buffers.
//!
//! In `stackFrames`, each frame of a stack occurs once below its callers, and a span refers to its
//! innermost frame. The name of a span is its innermost frame that has a line number in a file.
//!
//! The spans of a track must be disjoint or nested. Each stream therefore has a track for each of
//! its concurrent buffers, and a buffer uses the first free track.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, Write};

use serde_json::{Value, json};

use crate::log::{Event, Frame, Frames, Stack};
use crate::replay::frame_text;

use super::recording::{Buffer, Recording};

/// Writes a trace.
pub(super) fn write(recording: &Recording, mut to: impl Write) -> io::Result<()> {
    let times = recording.times();
    let end = times.last().map_or(0, |last| last + 1);
    let time = |index: usize| times.get(index).copied().unwrap_or(end);
    let mut trace = Trace { to: &mut to, is_first: true };
    let mut stacks = Stacks::new(&recording.frames);
    trace.to.write_all(b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[")?;
    for (&device, buffers) in &recording.devices {
        // Process 0 is the idle process. If a thread has the same number as its process, it is the
        // main thread.
        let pid = u64::from(device) + 1;
        let name = format!("device {device}");
        trace.add(&json!({
            "ph": "M", "name": "process_name", "pid": pid, "args": {"name": name},
        }))?;
        counters(pid, buffers, &time, &mut trace)?;
        let tracks = tracks(buffers);
        let tid = |track: usize| pid + 1 + track as u64;
        for (track, (stream, lane)) in tracks.names.iter().enumerate() {
            let args = json!({"name": format!("stream {stream:x}, track {lane}")});
            trace.add(&json!({
                "ph": "M", "name": "thread_name", "pid": pid, "tid": tid(track), "args": args,
            }))?;
        }
        for (buffer, &track) in buffers.iter().zip(&tracks.of) {
            let Event { address, stack, place, stream, .. } = buffer.live.event;
            let (start, bytes) = (time(buffer.lower), buffer.live.event.asked());
            let name = recording.frames.owner(stack).map(frame_text);
            let mut args = json!({
                "bytes": bytes, "address": format!("{address:#x}"),
                "stream": format!("{stream:x}"), "allocated": place.to_string(),
            });
            if !buffer.is_freed {
                args["freed"] = false.into();
            }
            let mut span = json!({
                "ph": "X", "name": name.unwrap_or_else(|| format!("{bytes} bytes")), "cat": "buffer",
                "pid": pid, "tid": tid(track), "ts": start, "dur": time(buffer.upper) - start, "args": args,
            });
            if let Some(number) = stacks.number(stack) {
                span["sf"] = number.into();
            }
            trace.add(&span)?;
        }
    }
    to.write_all(b"],\"stackFrames\":{")?;
    stacks.write(&mut to)?;
    to.write_all(b"}}\n")?;
    to.flush()
}

/// The frames of all stacks as a forest. The roots are the outermost frames.
struct Stacks<'a> {
    frames: &'a Frames,
    /// The number of each frame, by the number of its caller and the frame itself.
    numbers: HashMap<(Option<usize>, Frame), usize>,
    /// The caller of each frame, and the frame.
    nodes: Vec<(Option<usize>, Frame)>,
    of: HashMap<Stack, Option<usize>>,
}

impl<'a> Stacks<'a> {
    fn new(frames: &'a Frames) -> Self {
        Self { frames, numbers: HashMap::new(), nodes: Vec::new(), of: HashMap::new() }
    }

    /// Returns the number of the innermost frame of a stack, or `None` if the stack has no frames.
    fn number(&mut self, stack: Stack) -> Option<usize> {
        if let Some(&known) = self.of.get(&stack) {
            return known;
        }
        let mut caller = None;
        for &frame in self.frames.frames_of(stack).iter().rev() {
            let nodes = &mut self.nodes;
            caller = Some(*self.numbers.entry((caller, frame)).or_insert_with(|| {
                nodes.push((caller, frame));
                nodes.len() - 1
            }));
        }
        self.of.insert(stack, caller);
        caller
    }

    fn write(&self, to: &mut impl Write) -> io::Result<()> {
        for (number, (caller, frame)) in self.nodes.iter().enumerate() {
            let separator = if number == 0 { "\n" } else { ",\n" };
            write!(to, "{separator}\"{number}\":")?;
            let mut node = json!({"name": frame_text(self.frames.texts_of(frame))});
            if let Some(caller) = caller {
                node["parent"] = caller.to_string().into();
            }
            serde_json::to_writer(&mut *to, &node)?;
        }
        Ok(())
    }
}

struct Trace<'a, W> {
    to: &'a mut W,
    is_first: bool,
}

impl<W: Write> Trace<'_, W> {
    fn add(&mut self, event: &Value) -> io::Result<()> {
        let separator: &[u8] = if self.is_first { b"\n" } else { b",\n" };
        self.is_first = false;
        self.to.write_all(separator)?;
        serde_json::to_writer(&mut *self.to, event)?;
        Ok(())
    }
}

/// Writes the live bytes after each change, for the device and, if there are several streams, for
/// each stream. A viewer appends the name of the series, `bytes`, to the name of the counter.
fn counters(
    pid: u64,
    buffers: &[Buffer],
    time: &impl Fn(usize) -> u64,
    trace: &mut Trace<'_, impl Write>,
) -> io::Result<()> {
    let (mut live, mut of_stream) = (0_u64, HashMap::<u64, u64>::new());
    let streams: BTreeSet<u64> = buffers.iter().map(|one| one.live.event.stream).collect();
    for (index, is_allocation, at) in changes(buffers) {
        let Event { stream, .. } = buffers[at].live.event;
        let bytes = buffers[at].live.event.asked();
        let on_stream = of_stream.entry(stream).or_default();
        for total in [&mut live, on_stream] {
            *total = if is_allocation { *total + bytes } else { *total - bytes };
        }
        let counter = |name: String, bytes: u64| json!({"ph": "C", "name": name, "pid": pid, "ts": time(index), "args": {"bytes": bytes}});
        let on_stream = counter(format!("stream {stream:x}: live"), *on_stream);
        trace.add(&counter("live".to_owned(), live))?;
        if streams.len() > 1 {
            trace.add(&on_stream)?;
        }
    }
    Ok(())
}

/// Returns the changes in order. Each change consists of the event, `true` if it allocates, and the
/// buffer.
fn changes(buffers: &[Buffer]) -> BTreeSet<(usize, bool, usize)> {
    let all = buffers.iter().enumerate();
    all.flat_map(|(at, buffer)| {
        let free = buffer.is_freed.then_some((buffer.upper, false, at));
        [Some((buffer.lower, true, at)), free].into_iter().flatten()
    })
    .collect()
}

/// The tracks of a device.
struct Tracks {
    /// The stream and the number of each track.
    names: Vec<(u64, usize)>,
    /// The track of each buffer.
    of: Vec<usize>,
}

impl Tracks {
    /// Returns the tracks in an order that keeps the tracks of each stream together.
    fn by_stream(mut self) -> Self {
        let mut order: Vec<usize> = (0..self.names.len()).collect();
        order.sort_by_key(|&track| self.names[track]);
        let mut places = vec![0; order.len()];
        for (place, &track) in order.iter().enumerate() {
            places[track] = place;
        }
        self.names.sort_unstable();
        self.of.iter_mut().for_each(|track| *track = places[*track]);
        self
    }
}

fn tracks(buffers: &[Buffer]) -> Tracks {
    let mut tracks = Tracks { names: Vec::new(), of: vec![0; buffers.len()] };
    let mut idle: BTreeMap<u64, BTreeSet<usize>> = BTreeMap::new();
    let mut counts: HashMap<u64, usize> = HashMap::new();
    for (_, is_allocation, at) in changes(buffers) {
        let stream = buffers[at].live.event.stream;
        let idle = idle.entry(stream).or_default();
        if !is_allocation {
            idle.insert(tracks.of[at]);
            continue;
        }
        tracks.of[at] = idle.pop_first().unwrap_or_else(|| {
            let count = counts.entry(stream).or_default();
            *count += 1;
            tracks.names.push((stream, *count));
            tracks.names.len() - 1
        });
    }
    tracks.by_stream()
}
