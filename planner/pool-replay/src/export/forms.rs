//! The forms that a recording is written in.

use std::io::{self, Write};

use crate::Replay;
use crate::log::JsonWriter;

use super::recording::Recording;
use super::{html, memory_viz, perfetto, picture, problem};

impl Recording {
    /// Writes a snapshot for PyTorch's viewer in the browser and `python -m torch.cuda._memory_viz`.
    ///
    /// # Errors
    /// Fails if the writer fails, or if a device, an address or a size exceeds the viewer's
    /// numbers: addresses and sizes have 63 bits there.
    pub fn write_memory_viz(&self, to: impl Write) -> io::Result<()> {
        memory_viz::write(self, to)
    }

    /// Writes a trace for ui.perfetto.dev.
    ///
    /// # Errors
    /// Fails if the writer fails.
    pub fn write_perfetto(&self, to: impl Write) -> io::Result<()> {
        perfetto::write(self, to)
    }

    /// Writes this project's own log, JSON lines, which [`Format::Json`](crate::Format::Json) reads. Each stack of
    /// frames stands in it once.
    ///
    /// # Errors
    /// Fails if the writer fails.
    pub fn write_json(&self, to: impl Write) -> io::Result<()> {
        let mut writer = JsonWriter::new(to, &self.frames);
        self.events.iter().try_for_each(|event| writer.event(event))?;
        writer.end()
    }

    /// Writes the buffers of a device with their lifetimes in events as `MiniMalloc`'s CSV, a problem to plan. Buffers
    /// that are never freed live until after the last event.
    ///
    /// # Errors
    /// Fails if the writer fails.
    pub fn write_csv(&self, device: u32, to: impl Write) -> io::Result<()> {
        problem::write(self.buffers_of(device), to)
    }

    /// Writes a page for a browser, one file that loads nothing. It shows the buffers of all
    /// devices over time, their owners, and the memory that the allocators of `replay` would hold.
    /// `name` is that of the log.
    ///
    /// # Errors
    /// Fails if the writer fails.
    pub fn write_html(&self, name: &str, replay: &Replay, to: impl Write) -> io::Result<()> {
        html::write(self, name, replay, to)
    }

    /// Draws a device: time to the right, addresses up, and below the bytes that are live.
    ///
    /// # Errors
    /// Fails if the writer fails.
    pub fn write_svg(&self, device: u32, to: impl Write) -> io::Result<()> {
        picture::write(self, self.buffers_of(device), to)
    }
}
