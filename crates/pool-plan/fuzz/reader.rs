//! What all targets do: a reader of logs answers to any bytes, with events or with an error.

#[allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "the command uses more of its modules"
)]
#[path = "../src/command/log/mod.rs"]
mod log;

use std::io::Cursor;

pub(crate) use log::Format;

/// Reads bytes as a log of a format.
pub(crate) fn read(bytes: &[u8], format: Format) {
    let mut frames = log::Frames::new();
    let _ = log::read(&mut Cursor::new(bytes), format, &mut frames, &mut |_| {});
}
