//! What all targets do: a log is replayed, whatever bytes it has, with a report or with an error. Nothing is planned, which
//! takes no bytes of the file.

use std::io::Cursor;

pub(crate) use pool_replay::Format;
use pool_replay::{Allocator, Replay};

/// Replays bytes as a log of a format.
pub(crate) fn read(bytes: &[u8], format: Format) {
    let allocators = Allocator::ALL.into_iter().filter(|&one| one != Allocator::Planned).collect();
    let replay = Replay { format: Some(format), allocators, ..Replay::default() };
    let _ = replay.read("fuzz", &mut Cursor::new(bytes));
}
