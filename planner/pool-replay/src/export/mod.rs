//! Writes a log in other forms. The forms are a snapshot for PyTorch's viewer, a trace for
//! Perfetto, a problem, a log, a picture, and a page for a browser.

mod bytes;
mod forms;
mod html;
mod memory_viz;
mod perfetto;
mod pickler;
mod picture;
mod problem;
mod recording;

#[cfg(test)]
mod tests;

pub use picture::xml_text;
pub use recording::{Recording, RecordingError};
