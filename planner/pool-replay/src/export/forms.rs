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
    /// If the writer fails, or a device, an address or a size has a number that the viewer does not read: addresses and
    /// sizes have 63 bits there.
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

    /// Writes this project's own log, JSON lines, which [`Format::Json`](crate::Format::Json) reads. Each stack of
    /// frames stands in it once.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write_json(&self, to: impl Write) -> io::Result<()> {
        let mut writer = JsonWriter::new(to, &self.frames);
        self.events.iter().try_for_each(|event| writer.event(event))?;
        writer.end()
    }

    /// Writes the buffers of a device with their lifetimes in events as `MiniMalloc`'s CSV, a problem to plan. Buffers
    /// that are never freed live until after the last event.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write_csv(&self, device: u32, to: impl Write) -> io::Result<()> {
        problem::write(self.buffers_of(device), to)
    }

    /// Writes a page for a browser, one file that loads nothing: the buffers of all devices over time, who owns them, and
    /// what the allocators of `replay` would hold. `name` is that of the log.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write_html(&self, name: &str, replay: &Replay, to: impl Write) -> io::Result<()> {
        html::write(self, name, replay, to)
    }

    /// Draws a device: time to the right, addresses up, and below the bytes that are live.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write_svg(&self, device: u32, to: impl Write) -> io::Result<()> {
        picture::write(self, self.buffers_of(device), to)
    }
}
