//! This project's log format, which consists of one JSON object per line. Most lines are events.
//! All other lines assign numbers to frames and stacks.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};

use super::error::LogError;
use super::event::{Action, Event, Place, Pool};
use super::frames::{Frame, Frames, Stack};
use super::lines::Lines;
use super::others::Others;

/// An event. Only the action of an event is required. All other values of an event default to 0, or
/// to unknown.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Line {
    action: LineAction,
    #[serde(default)]
    address: u64,
    #[serde(default)]
    bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    requested: Option<u64>,
    #[serde(default, skip_serializing_if = "is_zero")]
    device: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    stream: u64,
    #[serde(default, skip_serializing_if = "is_default")]
    pool: [u64; 2],
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    frames: Vec<LineFrame>,
    /// The number of a stack that an earlier line defines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stack: Option<u64>,
}

/// A line that assigns a number to a frame.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct FrameLine<'a> {
    frame: u64,
    #[serde(default, borrow)]
    filename: Cow<'a, str>,
    #[serde(default)]
    line: i64,
    #[serde(default, borrow)]
    name: Cow<'a, str>,
}

/// A line that assigns a number to a stack of frames. In a stack, the innermost frame comes first.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct StackLine {
    stack: u64,
    of: Vec<u64>,
}

/// The action of an event. Each action is represented by a word in a line.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum LineAction {
    Alloc,
    Free,
    FreeRequested,
    AllocFailed,
    SegmentAlloc,
    SegmentFree,
    PoolFree,
}

/// A frame in the form of PyTorch's snapshots.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct LineFrame {
    #[serde(default)]
    filename: String,
    #[serde(default)]
    line: i64,
    #[serde(default)]
    name: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_default(pool: &[u64; 2]) -> bool {
    *pool == [0; 2]
}

/// The frames and stacks that have been assigned a number.
#[derive(Debug, Default)]
struct Tables {
    frames: HashMap<u64, Frame>,
    stacks: HashMap<u64, Stack>,
}

impl Tables {
    /// Reads a line that defines a frame or stack. Returns `false` if the line is an event.
    fn define(&mut self, line: &str, frames: &mut Frames) -> Result<bool, String> {
        let key = line.strip_prefix('{').map_or("", str::trim_start);
        let json = |error: serde_json::Error| LogError::in_line(&error);
        if key.starts_with("\"frame\"") {
            let FrameLine { frame, filename, line, name } =
                serde_json::from_str(line).map_err(json)?;
            let (filename, name) = (frames.text(&filename), frames.text(&name));
            self.frames.insert(frame, Frame { filename, line, name });
            return Ok(true);
        }
        if !key.starts_with("\"stack\"") {
            return Ok(false);
        }
        let StackLine { stack, of } = serde_json::from_str(line).map_err(json)?;
        let frame = |number: &u64| {
            let frame = self.frames.get(number).copied();
            frame.ok_or_else(|| format!("no line above defines frame {number}"))
        };
        let of = of.iter().map(frame).collect::<Result<Vec<_>, _>>()?;
        self.stacks.insert(stack, frames.stack(&of));
        Ok(true)
    }
}

impl Line {
    /// Returns the line of an event, without its frames.
    fn of(event: &Event) -> Self {
        let action = match event.action {
            Action::Allocate => LineAction::Alloc,
            Action::Free => LineAction::Free,
            Action::RequestFree => LineAction::FreeRequested,
            Action::Fail => LineAction::AllocFailed,
            Action::Reserve => LineAction::SegmentAlloc,
            Action::Release => LineAction::SegmentFree,
            Action::ReleasePool => LineAction::PoolFree,
        };
        Self {
            action,
            address: event.address,
            bytes: event.bytes,
            requested: event.requested,
            device: event.device.into(),
            stream: event.stream,
            pool: [event.pool.0, event.pool.1],
            time: event.time,
            frames: Vec::new(),
            stack: None,
        }
    }

    fn event(&self, number: u64, tables: &Tables, frames: &mut Frames) -> Result<Event, String> {
        let action = match self.action {
            LineAction::Alloc => Action::Allocate,
            LineAction::Free => Action::Free,
            LineAction::FreeRequested => Action::RequestFree,
            LineAction::AllocFailed => Action::Fail,
            LineAction::SegmentAlloc => Action::Reserve,
            LineAction::SegmentFree => Action::Release,
            LineAction::PoolFree => Action::ReleasePool,
        };
        if self.requested.is_some_and(|requested| requested > self.bytes) {
            return Err(format!(
                "the requested bytes exceed the {} bytes of the allocation",
                self.bytes
            ));
        }
        let device = u32::try_from(self.device)
            .map_err(|_| format!("device {} does not fit in 32 bits", self.device))?;
        let event = Event::new(action, Place::Line(number), self.address, self.bytes);
        let (requested, time, stream) = (self.requested, self.time, self.stream);
        let stack = self.stack(tables, frames)?;
        let pool = Pool(self.pool[0], self.pool[1]);
        if action == Action::ReleasePool && pool == Pool::DEFAULT {
            return Err("pool_free must name a private pool with the key pool".to_owned());
        }
        Ok(Event { device, stream, time, requested, stack, pool, ..event })
    }

    fn stack(&self, tables: &Tables, frames: &mut Frames) -> Result<Stack, String> {
        if let Some(number) = self.stack {
            if !self.frames.is_empty() {
                return Err(
                    "the object has both frames and a stack: keep only one of the two".to_owned()
                );
            }
            let stack = tables.stacks.get(&number).copied();
            return stack.ok_or_else(|| format!("no line above defines stack {number}"));
        }
        let frame = |frame: &LineFrame, frames: &mut Frames| Frame {
            filename: frames.text(&frame.filename),
            line: frame.line,
            name: frames.text(&frame.name),
        };
        let stack: Vec<Frame> = self.frames.iter().map(|one| frame(one, frames)).collect();
        Ok(frames.stack(&stack))
    }
}

/// Writes a log. Each frame and each stack is written once, before the first event that refers to
/// it.
#[derive(Debug)]
pub(crate) struct Writer<'a, W> {
    to: W,
    frames: &'a Frames,
    frame_numbers: HashMap<Frame, u64>,
    stack_numbers: HashMap<Stack, u64>,
}

impl<'a, W: Write> Writer<'a, W> {
    pub(crate) fn new(to: W, frames: &'a Frames) -> Self {
        Self { to, frames, frame_numbers: HashMap::new(), stack_numbers: HashMap::new() }
    }

    /// Writes an event, preceded by its frames and stack if they are new.
    pub(crate) fn event(&mut self, event: &Event) -> io::Result<()> {
        let stack = self.stack(event.stack)?;
        self.line(&Line { stack, ..Line::of(event) })
    }

    /// Ends the log.
    pub(crate) fn end(mut self) -> io::Result<()> {
        self.to.flush()
    }

    fn line(&mut self, line: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.to, line)?;
        self.to.write_all(b"\n")
    }

    /// Returns the number of a stack, or `None` for the empty stack.
    fn stack(&mut self, stack: Stack) -> io::Result<Option<u64>> {
        if stack == Stack::default() {
            return Ok(None);
        }
        if let Some(&number) = self.stack_numbers.get(&stack) {
            return Ok(Some(number));
        }
        let frames = self.frames;
        let mut of = Vec::new();
        for frame in frames.frames_of(stack) {
            let next = self.frame_numbers.len() as u64;
            if let Some(&number) = self.frame_numbers.get(frame) {
                of.push(number);
                continue;
            }
            self.frame_numbers.insert(*frame, next);
            of.push(next);
            self.line(&FrameLine {
                frame: next,
                filename: frames.text_of(frame.filename).into(),
                line: frame.line,
                name: frames.text_of(frame.name).into(),
            })?;
        }
        let number = self.stack_numbers.len() as u64;
        self.stack_numbers.insert(stack, number);
        self.line(&StackLine { stack: number, of })?;
        Ok(Some(number))
    }
}

/// Reads a log.
pub(super) fn read(
    source: &mut impl BufRead,
    others: &mut Others,
    frames: &mut Frames,
    sink: &mut dyn FnMut(Event),
) -> Result<(), LogError> {
    let mut lines = Lines::new(source);
    let mut tables = Tables::default();
    while let Some((number, line)) = lines.next()? {
        let wrong = |message: String| LogError::line(number, message);
        if tables.define(line, frames).map_err(wrong)? {
            continue;
        }
        let parsed: Line = match serde_json::from_str(line) {
            Ok(line) => line,
            Err(_) if others.skip(line.starts_with(['{', '['])) => continue,
            Err(error) => return Err(wrong(LogError::in_line(&error))),
        };
        sink(parsed.event(number, &tables, frames).map_err(wrong)?);
    }
    Ok(())
}
