//! This project's own log: one JSON object a line, see [`Line`].

use std::io::BufRead;

use serde::{Deserialize, Serialize};

use super::error::LogError;
use super::event::{Action, Event, Place};
use super::frames::{Frame, Frames};
use super::lines::Lines;

/// A line of the log. Only the action is always there; what is left out is 0, or not known.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line {
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time: Option<i64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    frames: Vec<LineFrame>,
}

/// What happened, by the word that stands in a line.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum LineAction {
    Alloc,
    Free,
    FreeRequested,
    AllocFailed,
    SegmentAlloc,
    SegmentFree,
}

/// A frame, as PyTorch's snapshots have it.
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

impl Line {
    /// The line of an event.
    pub(crate) fn of(event: &Event, frames: &Frames) -> Self {
        let action = match event.action {
            Action::Allocate => LineAction::Alloc,
            Action::Free => LineAction::Free,
            Action::RequestFree => LineAction::FreeRequested,
            Action::Fail => LineAction::AllocFailed,
            Action::Reserve => LineAction::SegmentAlloc,
            Action::Release => LineAction::SegmentFree,
        };
        let frame = |(filename, line, name): (&str, i64, &str)| LineFrame {
            filename: filename.to_owned(),
            line,
            name: name.to_owned(),
        };
        Self {
            action,
            address: event.address,
            bytes: event.bytes,
            requested: event.requested,
            device: event.device.into(),
            stream: event.stream,
            time: event.time,
            frames: frames.frames(event.stack).map(frame).collect(),
        }
    }

    fn event(&self, number: u64, frames: &mut Frames) -> Result<Event, String> {
        let action = match self.action {
            LineAction::Alloc => Action::Allocate,
            LineAction::Free => Action::Free,
            LineAction::FreeRequested => Action::RequestFree,
            LineAction::AllocFailed => Action::Fail,
            LineAction::SegmentAlloc => Action::Reserve,
            LineAction::SegmentFree => Action::Release,
        };
        if self.requested.is_some_and(|requested| requested > self.bytes) {
            return Err(format!("more bytes are requested than the {} there are", self.bytes));
        }
        let device = u32::try_from(self.device)
            .map_err(|_| format!("device {} is beyond 32 bits", self.device))?;
        let stack: Vec<Frame> = self
            .frames
            .iter()
            .map(|frame| Frame {
                filename: frames.text(&frame.filename),
                line: frame.line,
                name: frames.text(&frame.name),
            })
            .collect();
        let event = Event::new(action, Place::Line(number), self.address, self.bytes);
        let (requested, time, stream) = (self.requested, self.time, self.stream);
        Ok(Event { device, stream, time, requested, stack: frames.stack(&stack), ..event })
    }
}

/// Reads a log.
pub(super) fn read(
    source: &mut impl BufRead,
    frames: &mut Frames,
    sink: &mut dyn FnMut(Event),
) -> Result<(), LogError> {
    let mut lines = Lines::new(source);
    while let Some((number, line)) = lines.next()? {
        let wrong = |message: String| LogError::line(number, message);
        let line: Line = serde_json::from_str(line).map_err(|error| {
            // The parser has seen one line, and calls it the first.
            let message = error.to_string();
            let message = message.split(" at line ").next().unwrap_or_default();
            wrong(format!("column {}: {message}", error.column()))
        })?;
        sink(line.event(number, frames).map_err(wrong)?);
    }
    Ok(())
}
