//! The forms in which a recording can be written.

use std::io::{self, Write};

use crate::Replay;
use crate::log::JsonWriter;

use super::recording::Recording;
use super::{html, memory_viz, perfetto, picture, problem};

impl Recording {
    /// Writes a snapshot for PyTorch's viewer in the browser and `python -m torch.cuda._memory_viz`.
    ///
    /// # Errors
    /// Fails if the writer fails, or if a device, an address or a size is too large for the viewer,
    /// which uses 63 bits for addresses and sizes.
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

    /// Writes this project's log format, JSON lines, which [`Format::Json`](crate::Format::Json)
    /// reads. Each stack of frames is written only once.
    ///
    /// # Errors
    /// Fails if the writer fails.
    pub fn write_json(&self, to: impl Write) -> io::Result<()> {
        let mut writer = JsonWriter::new(to, &self.frames);
        self.events.iter().try_for_each(|event| writer.event(event))?;
        writer.end()
    }

    /// Writes the buffers of a device as `MiniMalloc`'s CSV, which is a problem to plan. Lifetimes
    /// are measured in events. Buffers that are never freed are live until after the last event.
    ///
    /// # Errors
    /// Fails if the writer fails.
    pub fn write_csv(&self, device: u32, to: impl Write) -> io::Result<()> {
        problem::write(self.buffers_of(device), to)
    }

    /// Writes a page for a browser, in a single file that loads no other file. The page shows the
    /// buffers of all devices over time, their owners, and the memory that the allocators of
    /// `replay` would hold. `name` is the name of the log.
    ///
    /// # Errors
    /// Fails if the writer fails.
    pub fn write_html(&self, name: &str, replay: &Replay, to: impl Write) -> io::Result<()> {
        html::write(self, name, replay, to)
    }

    /// Draws a device. Time increases to the right, and addresses increase upwards. The live bytes
    /// are drawn below.
    ///
    /// # Errors
    /// Fails if the writer fails.
    pub fn write_svg(&self, device: u32, to: impl Write) -> io::Result<()> {
        picture::write(self, self.buffers_of(device), to)
    }
}
