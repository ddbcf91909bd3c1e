//! A page for a browser, in a single file that loads no other file. The page shows the buffers over
//! time with zoom, the buffers at the peak or at any other time, their owners, and the memory that
//! each allocator would hold.
//!
//! The page contains the data as JSON, column by column. Texts of the log are never interpreted as
//! markup: `<` is escaped in the JSON, and the script only inserts them as text.

use std::collections::HashMap;
use std::io::{self, Write};

use serde::Serialize;

use crate::log::{Event, Stack};
use crate::replay::{DeviceReport, Replay, frame_text};

use super::picture::{area, ranges};
use super::recording::{Buffer, Recording};

const PAGE: &str = include_str!("page.html");
const MARK: &str = "/*DATA*/";
/// The maximum number of buffers of a device in a page. With more buffers, a browser would be slow.
const MOST_BUFFERS: usize = 200_000;
/// The maximum number of characters of a name.
const MOST_NAME: usize = 300;

/// The data of a page.
#[derive(Serialize)]
struct Page<'a> {
    log: &'a str,
    events: usize,
    /// The owners of buffers. A buffer refers to its owner by index.
    names: Vec<String>,
    devices: Vec<Device>,
}

/// The buffers of a device, column by column, and the report of the device.
#[derive(Serialize)]
struct Device {
    report: DeviceReport,
    lower: Vec<usize>,
    upper: Vec<usize>,
    /// The position of each buffer, which is the number of bytes above the lowest address.
    /// Addresses that no buffer ever uses are not counted.
    y: Vec<u64>,
    size: Vec<u64>,
    /// The index of the owner, or -1 if it is not known.
    owner: Vec<i64>,
    address: Vec<String>,
    stream: Vec<String>,
    place: Vec<String>,
    height: u64,
    /// The number of buffers that are left out.
    left_out: usize,
}

/// The owners of buffers.
#[derive(Default)]
struct Owners {
    names: Vec<String>,
    numbers: HashMap<String, i64>,
    of: HashMap<Stack, i64>,
}

impl Owners {
    fn number(&mut self, stack: Stack, recording: &Recording) -> i64 {
        if let Some(&known) = self.of.get(&stack) {
            return known;
        }
        let number = recording.frames.owner(stack).map_or(-1, |frame| {
            let name: String = frame_text(frame).chars().take(MOST_NAME).collect();
            let next = i64::try_from(self.names.len()).unwrap_or(-1);
            *self.numbers.entry(name).or_insert_with_key(|name| {
                self.names.push(name.clone());
                next
            })
        });
        self.of.insert(stack, number);
        number
    }
}

/// Writes a page. `replay` specifies the allocators that are simulated for the page.
pub(super) fn write(
    recording: &Recording,
    name: &str,
    replay: &Replay,
    mut to: impl Write,
) -> io::Result<()> {
    let reports = replay.events(&recording.events, &recording.frames);
    let mut owners = Owners::default();
    let device = |report: DeviceReport| {
        let buffers = recording.buffers_of(report.device);
        columns(report, buffers, recording, &mut owners)
    };
    let devices = reports.into_iter().map(device).collect();
    let events = recording.events.len();
    let page = Page { log: name, events, names: owners.names, devices };
    let data = serde_json::to_string(&page)?.replace('<', "\\u003c");
    let (before, after) = PAGE.split_once(MARK).unwrap_or((PAGE, ""));
    for part in [before, &data, after] {
        to.write_all(part.as_bytes())?;
    }
    to.flush()
}

fn columns(
    report: DeviceReport,
    buffers: &[Buffer],
    recording: &Recording,
    owners: &mut Owners,
) -> Device {
    let (ranges, height) = ranges(buffers);
    let mut kept: Vec<&Buffer> = buffers.iter().collect();
    if kept.len() > MOST_BUFFERS {
        kept.sort_by_key(|buffer| std::cmp::Reverse(area(buffer)));
        kept.truncate(MOST_BUFFERS);
        kept.sort_by_key(|buffer| buffer.lower);
    }
    let y = |buffer: &&Buffer| {
        let address = buffer.live.event.address;
        let at = ranges.partition_point(|&(start, ..)| start <= address);
        let (start, _, below) = ranges.get(at.saturating_sub(1)).copied().unwrap_or_default();
        below + (address - start)
    };
    let event = |buffer: &&Buffer| -> Event { buffer.live.event };
    Device {
        report,
        lower: kept.iter().map(|buffer| buffer.lower).collect(),
        upper: kept.iter().map(|buffer| buffer.upper).collect(),
        y: kept.iter().map(y).collect(),
        size: kept.iter().map(|buffer| event(buffer).asked()).collect(),
        owner: kept.iter().map(|one| owners.number(event(one).stack, recording)).collect(),
        address: kept.iter().map(|one| format!("{:#x}", event(one).address)).collect(),
        stream: kept.iter().map(|one| format!("{:x}", event(one).stream)).collect(),
        place: kept.iter().map(|one| event(one).place.to_string()).collect(),
        height,
        left_out: buffers.len() - kept.len(),
    }
}
