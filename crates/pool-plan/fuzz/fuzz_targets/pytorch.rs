//! The reader of one format answers to any bytes, with events or with an error.

#![no_main]

#[allow(
    dead_code,
    unreachable_pub,
    unused_imports,
    reason = "the command uses more of its modules"
)]
#[path = "../../src/command/log/mod.rs"]
mod log;

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use log::{Format, Frames};

fuzz_target!(|bytes: &[u8]| {
    let mut frames = Frames::new();
    let _ = log::read(&mut Cursor::new(bytes), Format::Pytorch, &mut frames, &mut |_| {});
});
