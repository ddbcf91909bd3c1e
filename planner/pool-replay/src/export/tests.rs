//! Tests that exports can be read back unchanged and have the form that the viewers expect.

use std::io::Cursor;

use crate::log::{self, Action, Event, Format, Frames, Place};
use crate::replay::frames_of;

use super::recording::Recording;
use super::{memory_viz, perfetto, picture, problem};

const TRAINING: &[u8] = include_bytes!("../../../data/training.pickle");
const RMM: &[u8] = include_bytes!("../../../data/rmm.csv");

fn recording(bytes: &[u8]) -> Recording {
    let mut source = Cursor::new(bytes);
    let format = Format::of(&mut source).unwrap();
    let (mut events, mut frames) = (Vec::new(), Frames::new());
    let whole = log::Selection::default();
    log::read(&mut source, format, &whole, &mut frames, &mut |event| events.push(event)).unwrap();
    Recording::new(events, frames).unwrap()
}

fn snapshot(recording: &Recording) -> Vec<u8> {
    let mut bytes = Vec::new();
    memory_viz::write(recording, &mut bytes).unwrap();
    bytes
}

/// The contents of an event in a snapshot: its action, address, size, stream, time and frames.
type Told = (Action, u64, u64, u64, Option<i64>, Vec<String>);

fn told(recording: &Recording) -> Vec<Told> {
    let is_kept = |event: &&Event| {
        let is_segment = matches!(event.action, Action::Reserve | Action::Release);
        event.place != Place::Before && !is_segment && event.bytes > 0
    };
    let told = |event: &Event| {
        let frames = frames_of(event.stack, &recording.frames);
        (event.action, event.address, event.asked(), event.stream, event.time, frames)
    };
    recording.events.iter().filter(is_kept).map(told).collect()
}

/// All events of a snapshot are preserved one by one, together with the buffers that were live
/// before them.
#[test]
fn snapshot_of_a_snapshot() {
    let before = recording(TRAINING);
    let after = recording(&snapshot(&before));
    assert_eq!(told(&before), told(&after));
    let live_before = |recording: &Recording| {
        let is_old =
            |event: &&Event| event.place == Place::Before && event.action == Action::Allocate;
        let key = |event: &Event| (event.address, event.asked());
        recording.events.iter().filter(is_old).map(key).collect::<Vec<_>>()
    };
    assert_eq!(live_before(&before), live_before(&after));
    assert_eq!(live_before(&after).len(), 24);
}

/// If the frees of a log do not consist of two steps, the second step is added. Everything else is
/// unchanged.
#[test]
fn snapshot_of_a_log() {
    let before = recording(RMM);
    let after = recording(&snapshot(&before));
    let mut told_after = told(&after);
    told_after.retain(|told| told.0 != Action::RequestFree);
    assert_eq!(told(&before), told_after);
    let left = |recording: &Recording| {
        recording.devices[&0].iter().filter(|buffer| !buffer.is_freed).count()
    };
    assert_eq!(left(&before), left(&after));
    assert!(left(&after) > 0);
}

/// PyTorch's viewer supports 32 opcodes, and protocols 2 to 4.
#[test]
fn snapshot_has_opcodes_of_the_viewer_alone() {
    const VIEWER: &[u8] = b"ehJKM}]\x95\x8aj(\x94\x80u\x8c.\x86a\x89q)X\x88NGt\x85\x87rlds";
    for bytes in [snapshot(&recording(TRAINING)), snapshot(&recording(RMM))] {
        assert_eq!(bytes[..2], [0x80, 4]);
        let mut at = 0;
        while at < bytes.len() {
            let opcode = bytes[at];
            assert!(VIEWER.contains(&opcode), "{opcode:#x} at {at}");
            at += 1 + match opcode {
                0x80 | b'K' | b'h' | b'q' => 1,
                b'J' | b'j' | b'r' => 4,
                0x8a | 0x8c => 1 + usize::from(bytes[at + 1]),
                b'X' => {
                    4 + bytes[at + 1..at + 5]
                        .iter()
                        .rev()
                        .fold(0, |sum, &byte| sum * 256 + usize::from(byte))
                }
                _ => 0,
            };
        }
        assert_eq!((at, bytes.last()), (bytes.len(), Some(&b'.')));
    }
}

/// An address range that ends beyond 63 bits is refused, because the viewer adds addresses and
/// sizes as signed integers. The other forms can represent it and read it back.
#[test]
fn numbers_from_2_63_on() {
    for (line, address) in [
        ("\"address\":9223372036854775808,\"bytes\":512", 1 << 63),
        ("\"address\":9223372036854775296,\"bytes\":512", (1 << 63) - 512),
        ("\"address\":0,\"bytes\":9223372036854775808", 0_u64),
    ] {
        let text = format!("{{\"action\":\"alloc\",{line},\"stream\":18446744073709551615}}\n");
        let before = recording(text.as_bytes());
        assert_eq!(before.events[0].address, address);
        let error = memory_viz::write(&before, Vec::new()).unwrap_err().to_string();
        assert!(error.starts_with("line 1: ") && error.contains("beyond 2^63 - 1"), "{error}");
        let mut json = Vec::new();
        before.write_json(&mut json).unwrap();
        assert_eq!(told(&before), told(&recording(&json)));
        let mut trace = Vec::new();
        perfetto::write(&before, &mut trace).unwrap();
        assert!(serde_json::from_slice::<serde_json::Value>(&trace).is_ok());
    }
}

/// Each frame and each stack occurs only once in a log of JSON lines and in a trace, for any number
/// of events.
#[test]
fn stacks_are_written_once() {
    let mut text = String::new();
    for number in 0..300_u32 {
        let frames: Vec<String> = (0..20)
            .map(|line| {
                format!(
                    "{{\"filename\":\"deep.py\",\"line\":{},\"name\":\"f\"}}",
                    line % 7 + number % 3
                )
            })
            .collect();
        text += &format!(
            "{{\"action\":\"alloc\",\"address\":{},\"bytes\":8,\"frames\":[{}]}}\n",
            number * 8,
            frames.join(",")
        );
    }
    let before = recording(text.as_bytes());
    let mut json = Vec::new();
    before.write_json(&mut json).unwrap();
    assert_eq!(told(&before), told(&recording(&json)));
    let json = String::from_utf8(json).unwrap();
    assert_eq!((json.matches("{\"frame\":").count(), json.matches("{\"stack\":").count()), (9, 3));
    let mut trace = Vec::new();
    perfetto::write(&before, &mut trace).unwrap();
    let trace: serde_json::Value = serde_json::from_slice(&trace).unwrap();
    let frames = trace["stackFrames"].as_object().unwrap();
    assert_eq!(frames.len(), 3 * 20);
    for event in trace["traceEvents"].as_array().unwrap().iter().filter(|one| one["ph"] == "X") {
        let mut number = event["sf"].to_string();
        let mut names = Vec::new();
        while let Some(frame) = frames.get(&number) {
            names.push(frame["name"].as_str().unwrap().to_owned());
            number = frame["parent"].as_str().unwrap_or_default().to_owned();
        }
        let address = event["args"]["address"].as_str().unwrap();
        let is_it = |one: &&Event| format!("{:#x}", one.address) == address;
        let event = before.events.iter().find(is_it).unwrap();
        assert_eq!(names, frames_of(event.stack, &before.frames));
    }
}

/// Numbers of every length are read back unchanged. Texts whose length does not fit in a byte are
/// also read back unchanged.
#[test]
fn snapshot_of_large_numbers() {
    let long = "ü".repeat(300);
    let mut text = String::new();
    for (index, bytes) in (1_u32..).zip([1_u64, 255, 256, 1 << 31, 1 << 32, 1 << 40]) {
        let address = u64::from(index) << 56;
        let stream = u64::MAX - u64::from(index);
        text += &format!(
            "{{\"action\":\"alloc\",\"address\":{address},\"bytes\":{bytes},\"time\":{},\"stream\":{stream},\
             \"frames\":[{{\"name\":\"{long}\",\"line\":{bytes}}}]}}\n",
            -1_000_000_000_000_i64 + i64::from(index),
        );
    }
    let before = recording(text.as_bytes());
    assert_eq!(told(&before), told(&recording(&snapshot(&before))));
}

#[test]
fn snapshot_of_too_many_devices() {
    let recording = recording(b"{\"action\":\"alloc\",\"bytes\":1,\"device\":4294967295}\n");
    let error = memory_viz::write(&recording, Vec::new()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the log has 4294967295 devices, but a snapshot can have at most 1024"
    );
}

#[test]
fn problem_of_a_log() {
    let recording = recording(RMM);
    let mut text = Vec::new();
    problem::write(&recording.devices[&0], &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let options = crate::csv::CsvOptions { fixed: false, alignment: None };
    let problem = crate::csv::read(&text, options).unwrap();
    assert_eq!(problem.buffers().len(), recording.devices[&0].len());
}

#[test]
fn picture_of_a_log() {
    let text = "{\"action\":\"alloc\",\"address\":9,\"bytes\":1,\"frames\":[{\"name\":\"a<b> & \\u0007\"}]}\n";
    for (bytes, buffers) in [(TRAINING, 137), (text.as_bytes(), 1)] {
        let recording = recording(bytes);
        let mut svg = Vec::new();
        picture::write(&recording, &recording.devices[&0], &mut svg).unwrap();
        let svg = String::from_utf8(svg).unwrap();
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
        assert_eq!(svg.matches("<title>").count(), buffers);
        assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{svg}");
        assert!(buffers > 1 || svg.contains("a&lt;b&gt; &amp; \u{fffd}"), "{svg}");
    }
}

/// Times are used if every event has one and they never decrease. If an event has no time or times
/// decrease, events are numbered.
#[test]
fn times_that_go_back() {
    let line = |address: u64, time: i64| {
        format!("{{\"action\":\"alloc\",\"address\":{address},\"bytes\":1,\"time\":{time}}}\n")
    };
    let times = |times: [i64; 3]| {
        let text: String = (0..).zip(times).map(|(address, time)| line(address, time)).collect();
        recording(text.as_bytes()).times()
    };
    assert_eq!(times([5, 5, 90]), [0, 0, 85]);
    assert_eq!(times([5, 4, 90]), [0, 1, 2]);
    assert_eq!(times([7, 7, 7]), [0, 1, 2]);
    assert_eq!(times([i64::MIN, 0, i64::MAX]), [0, 1, 2]);
}

/// A file that accepts a limited number of bytes.
struct Full(usize);

impl std::io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0 == 0 {
            return Err(std::io::Error::other("the disk is full"));
        }
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        if self.0 == 0 { Err(std::io::Error::other("the disk is full")) } else { Ok(()) }
    }
}

/// A full disk is reported at every position.
#[test]
fn files_that_cannot_be_written_on() {
    let text = "{\"action\":\"alloc\",\"address\":8,\"bytes\":1,\"frames\":[{\"name\":\"f\"}]}\n\
                {\"action\":\"free\",\"address\":8}\n";
    let recording = recording(text.as_bytes());
    let buffers = &recording.devices[&0];
    let mut written = Vec::new();
    memory_viz::write(&recording, &mut written).unwrap();
    for room in 0..=written.len() {
        assert!(memory_viz::write(&recording, Full(room)).is_err(), "{room}");
    }
    for room in [0, 1, 100] {
        assert!(perfetto::write(&recording, Full(room)).is_err(), "{room}");
        assert!(picture::write(&recording, buffers, Full(room)).is_err(), "{room}");
    }
    assert!(problem::write(buffers, Full(25)).is_err());
}
