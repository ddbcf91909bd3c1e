//! The common part of all fuzz targets. It replays arbitrary bytes as a log, which must end with a
//! report or an error. Nothing is planned, because planning does not read the file.

use std::io::Cursor;

#[allow(unused_imports, reason = "the target for wrapped files names no format")]
pub(crate) use pool_replay::Format;
use pool_replay::{Allocator, Replay, Selection, Source};

/// Creates a replay for a format, or one that detects the format if none is given.
fn replay(format: Option<Format>) -> Replay {
    let allocators = Allocator::ALL.into_iter().filter(|&one| one != Allocator::Planned).collect();
    // Foreign lines are skipped, so that the readers continue after the first one.
    let selection = Selection { skip_other_lines: format.is_some(), ..Selection::default() };
    Replay { format, allocators, selection, ..Replay::default() }
}

/// Replays bytes as a log in a given format.
#[allow(dead_code, reason = "each target is a separate program")]
pub(crate) fn read(bytes: &[u8], format: Format) {
    let _ = replay(Some(format)).read("fuzz", &mut Cursor::new(bytes));
}

/// Replays bytes as a file in any format, which may be compressed or an archive.
#[allow(dead_code, reason = "each target is a separate program")]
pub(crate) fn read_wrapped(bytes: &[u8]) {
    if let Ok(mut source) = Source::new(Cursor::new(bytes)) {
        let _ = replay(None).read("fuzz", &mut source);
    }
}
