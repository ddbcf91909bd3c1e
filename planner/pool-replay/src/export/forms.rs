//! The forms that a recording is written in.

use std::io::{self, Write};

use crate::log::Line;

use super::recording::Recording;
use super::{memory_viz, perfetto, picture, problem};

impl Recording {
    /// Writes a snapshot for PyTorch's viewer in the browser and `python -m torch.cuda._memory_viz`.
    ///
    /// # Errors
    /// If the writer fails, or a device has a number that no snapshot has.
    pub fn write_memory_viz(&self, to: impl Write) -> io::Result<()> {
        memory_viz::write(self, to)
    }

    /// Writes a trace for ui.perfetto.dev.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write_perfetto(&self, to: impl Write) -> io::Result<()> {
        perfetto::write(self, to)
    }

    /// Writes this project's own log, JSON lines, which [`Format::Json`](crate::Format::Json) reads.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write_json(&self, mut to: impl Write) -> io::Result<()> {
        for event in &self.events {
            serde_json::to_writer(&mut to, &Line::of(event, &self.frames))?;
            writeln!(to)?;
        }
        to.flush()
    }

    /// Writes the buffers of a device with their lifetimes in events as `MiniMalloc`'s CSV, a problem to plan. Buffers
    /// that are never freed live until after the last event.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write_csv(&self, device: u32, to: impl Write) -> io::Result<()> {
        problem::write(self.buffers_of(device), to)
    }

    /// Draws a device: time to the right, addresses up, and below the bytes that are live.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write_svg(&self, device: u32, to: impl Write) -> io::Result<()> {
        picture::write(self, self.buffers_of(device), to)
    }
}
