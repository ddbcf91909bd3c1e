//! The output of `CuPy`'s `DebugPrintHook`: one JSON object per line,
//! `{"hook":"malloc","device_id":0,"size":24,"mem_size":512,…}`.
//!
//! `malloc` and `free` are calls to the memory pool, which rounds `size` up to `mem_size`. `alloc`
//! is an allocation that the pool requests from the device. No hook reports when the pool returns
//! memory to the device.

use std::io::BufRead;

use serde::Deserialize;

use super::error::LogError;
use super::event::{Action, Event, Place};
use super::lines::Lines;
use super::others::Others;

/// A line of the hook's output. Keys that are not listed here are ignored.
#[derive(Deserialize)]
struct Line {
    hook: Hook,
    #[serde(default)]
    device_id: u64,
    #[serde(default)]
    size: Option<u64>,
    mem_size: u64,
    mem_ptr: u64,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Hook {
    Alloc,
    Malloc,
    Free,
}

/// Returns `true` if a line belongs to the hook's output.
pub(super) fn is_event(line: &str) -> bool {
    let line = line.trim_start();
    let key = line.strip_prefix('{').map(str::trim_start);
    key.is_some_and(|key| key.starts_with("\"hook\""))
}

/// Reads a log.
pub(super) fn read(
    source: &mut impl BufRead,
    others: &mut Others,
    sink: &mut dyn FnMut(Event),
) -> Result<(), LogError> {
    let mut lines = Lines::new(source);
    while let Some((number, line)) = lines.next()? {
        match event(number, line) {
            Ok(event) => sink(event),
            Err(_) if others.skip(is_event(line)) => {}
            Err(message) => return Err(LogError::line(number, message)),
        }
    }
    Ok(())
}

fn event(number: u64, line: &str) -> Result<Event, String> {
    let line: Line = serde_json::from_str(line).map_err(|error| LogError::in_line(&error))?;
    let action = match line.hook {
        Hook::Alloc => Action::Reserve,
        Hook::Malloc => Action::Allocate,
        Hook::Free => Action::Free,
    };
    let device = u32::try_from(line.device_id)
        .map_err(|_| format!("device_id {} does not fit in 32 bits", line.device_id))?;
    let requested = line.size.filter(|_| action == Action::Allocate);
    if requested.is_some_and(|requested| requested > line.mem_size) {
        return Err(format!("the size exceeds the mem_size of {} bytes", line.mem_size));
    }
    let event = Event::new(action, Place::Line(number), line.mem_ptr, line.mem_size);
    Ok(Event { device, requested, ..event })
}
