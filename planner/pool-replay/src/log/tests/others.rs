//! Tests the logs of other programs: one sample of each, the meaning of its lines, and errors in
//! its lines.

use super::*;

pub(super) const EVENT_LOG: &str = "Event Type,Device ID,Address,Stream,Size (bytes),Free Memory,Total Memory,\
    Current Allocs,Start,End,Elapsed,Location\n\
    Alloc,0,0x7f0000000000,0,720984,0,0,1,41.7014,41.7016,0.000156924,/a, b.cu:85\n\
    Alloc,1,0x7f0000100000,2,5056,0,0,2,41.7185,41.7187,0.000202607,/a.cu:85\n\
    Free,0,0x7f0000000000,0,0,0,0,1,41.8,41.8,0.0001,/a.cu:90\n";

pub(super) const DEBUG: &str = "[  1234][16:48:38:000001][info  ] ----- RMM LOG BEGIN [PTDS DISABLED] -----\n\
    [  1234][16:48:38:000002][trace ] [A][Stream 0x2][256B]\n\
    [  1234][16:48:38:000003][trace ] [A][Stream 0x2][256B][0x7f00]\n\
    [  1234][16:48:38:000004][debug ] [A][Stream 0x2][Upstream 1024B][FAILURE maximum pool size exceeded]\n\
    [  1234][16:48:38:000005][trace ] [D][stream (nil)][256B][0x7f00]\n";

pub(super) const CUPY: &str = "{\"hook\":\"alloc\",\"device_id\":0,\"mem_size\":512,\"mem_ptr\":150496608256}\n\
    {\"hook\":\"malloc\",\"device_id\":0,\"size\":24,\"mem_size\":512,\"mem_ptr\":150496608256,\"pmem_id\":\"0x7f39\"}\n\
    {\"hook\":\"free\",\"device_id\":0,\"mem_size\":512,\"mem_ptr\":150496608256,\"pmem_id\":\"0x7f39\"}\n";

pub(super) const TFLITE: &str = "Arena:\n\
    0 (id=0): size=10, offset=0, first_used=0 last_used=1\n\
    1 (id=1): size=20, offset=10, first_used=1 last_used=3\n\
    2 (id=2): size=8, offset=0, first_used=2 last_used=3\n\
    0: 0000000000................... (1k)\n";

pub(super) const XLA: &str = "BufferAssignment:\n\
    allocation 0: size 16, parameter 0, shape |f32[4]| at ShapeIndex {}:\n \
    value: <1 paramA @0> (size=16,offset=0): f32[4]{0}\n\
    allocation 1: 0x7f00, size 48, preallocated-temp:\n \
    value: <2 multiply @0> (size=16,offset=0): f32[4]{0}\n \
    value: <3 fusion{1} @0> (size=16,offset=16): f32[4]{0}\n \
    value: <4 add @0> (size=16,offset=0): f32[4]{0}\n\
    HloLiveRange (max 4):\n  \
    InstructionSequence:\n    0:paramA\n  \
    BufferLiveRange:\n    \
    paramA{}:0-4\n    multiply{}:1-2\n    fusion{1}:2-3\n    add{}:2-4\n";

fn event(action: Action, place: Place, address: u64, bytes: u64) -> Event {
    Event::new(action, place, address, bytes)
}

/// Reads a log that contains foreign lines. Returns its events and the number of skipped lines.
fn among_others(text: &str, format: Format) -> Result<(Vec<Event>, u64), LogError> {
    let selection = Selection { skip_other_lines: true, ..Selection::default() };
    let mut events = Vec::new();
    let mut source = Cursor::new(text.as_bytes());
    let told = read(&mut source, format, &selection, &mut Frames::new(), &mut |event| {
        events.push(event);
    })?;
    Ok((events, told.skipped))
}

#[test]
fn rmm_event_log_of_0_13() {
    let time = Some(41_701_400);
    let expected = [
        Event { time, ..event(Action::Allocate, Place::Line(2), 0x7f00_0000_0000, 720_984) },
        Event {
            time: Some(41_718_500),
            device: 1,
            stream: 2,
            ..event(Action::Allocate, Place::Line(3), 0x7f00_0010_0000, 5056)
        },
        Event {
            time: Some(41_800_000),
            ..event(Action::Free, Place::Line(4), 0x7f00_0000_0000, 0)
        },
    ];
    assert_eq!(events(EVENT_LOG.as_bytes()), expected);
}

/// The columns that a reader uses may occur in any order, among any other columns.
#[test]
fn rmm_columns_in_any_order() {
    let text = "Size,Reason,Pointer,Action\n16,\"a, b\",0x10,allocate\n16,c,0x10,free\n";
    let read = events(text.as_bytes());
    assert_eq!(read[0], event(Action::Allocate, Place::Line(2), 0x10, 16));
    assert_eq!(read[1], event(Action::Free, Place::Line(3), 0x10, 16));
    // A log of another version is appended to this one.
    let both = format!("{text}Time,Action,Pointer,Size,Stream\n16:48:38:000001,free,0x20,8,0x7\n");
    let last = events(both.as_bytes())[2];
    assert_eq!((last.address, last.bytes, last.stream), (0x20, 8, 7));
    let message = message(b"Thread,Time,Action,Pointer,Stream\n1,1:1:1.1,free,0x1,0\n");
    assert!(message.contains("(the closest format is rmm, without the column Size)"), "{message}");
}

#[test]
fn rmm_numbers_that_do_not_fit() {
    let header = "Event Type,Device ID,Address,Stream,Size (bytes),Start\n";
    for (line, expected) in [
        (
            "Alloc,4294967296,0x1,0,1,1.5",
            "line 2: Device ID: \"4294967296\" is not a 32-bit number",
        ),
        ("Alloc,0,0x10000000000000000,0,1,1.5", "line 2: Address: "),
        ("Alloc,0,0x1,0x10000000000000000,1,1.5", "line 2: Stream: "),
        ("Alloc,0,0x1,0,18446744073709551616,1.5", "line 2: Size (bytes): "),
        ("Alloc,0,0x1,0,1,1e300", "line 2: Start: "),
        ("Alloc,0,0x1,0,1,inf", "line 2: Start: "),
        ("Realloc,0,0x1,0,1,1.5", "line 2: Event Type: \"Realloc\" is not one of"),
    ] {
        let message = message(format!("{header}{line}\n").as_bytes());
        assert!(message.starts_with(expected), "{line}: {message}");
    }
}

#[test]
fn rmm_debug_log() {
    let time = |micros: i64| Some(((16 * 60 + 48) * 60 + 38) * 1_000_000 + micros);
    let (read, skipped) = among_others(DEBUG, Format::RmmDebug).unwrap();
    let expected = [
        Event { time: time(3), stream: 2, ..event(Action::Allocate, Place::Line(3), 0x7f00, 256) },
        Event { time: time(4), stream: 2, ..event(Action::Fail, Place::Line(4), 0, 1024) },
        Event { time: time(5), ..event(Action::Free, Place::Line(5), 0x7f00, 256) },
    ];
    assert_eq!((read, skipped), (expected.to_vec(), 2));
    for (line, expected) in [
        ("[A][Stream 0x2][18446744073709551616B][0x1]", "line 1: size: "),
        ("[A][Stream 0x10000000000000000][1B][0x1]", "line 1: stream: "),
        ("[D][stream 0x2][1B][0x10000000000000000]", "line 1: pointer: "),
    ] {
        let message = message(line.as_bytes());
        assert!(message.starts_with(expected), "{line}: {message}");
    }
}

#[test]
fn cupy_hook() {
    let read = events(CUPY.as_bytes());
    let address = 150_496_608_256;
    let expected = [
        event(Action::Reserve, Place::Line(1), address, 512),
        Event { requested: Some(24), ..event(Action::Allocate, Place::Line(2), address, 512) },
        event(Action::Free, Place::Line(3), address, 512),
    ];
    assert_eq!(read, expected);
    let printed = CUPY.replace('\n', "\nstep 1, loss 0.5\n");
    assert!(message(printed.as_bytes()).starts_with("line 2: column 1"));
    let (read, skipped) = among_others(&printed, Format::Cupy).unwrap();
    assert_eq!((read.len(), skipped), (3, 3));
    for (line, expected) in [
        ("{\"hook\":\"malloc\",\"mem_size\":1}", "line 1: column 30: missing field `mem_ptr`"),
        ("{\"hook\":\"free\",\"mem_size\":1,\"mem_ptr\":18446744073709551616}", "line 1: column"),
        (
            "{\"hook\":\"malloc\",\"mem_size\":1,\"size\":2,\"mem_ptr\":0}",
            "line 1: the size exceeds",
        ),
        (
            "{\"hook\":\"alloc\",\"mem_size\":1,\"mem_ptr\":0,\"device_id\":4294967296}",
            "line 1: device",
        ),
    ] {
        let message = message(line.as_bytes());
        assert!(message.starts_with(expected), "{line}: {message}");
        // A line of the hook's output is never skipped.
        assert!(among_others(line, Format::Cupy).is_err(), "{line}");
    }
}

#[test]
fn tflite_plan() {
    let (allocate, free) = (Action::Allocate, Action::Free);
    let told = |text: &str| {
        let told = |one: &Event| (one.action, one.address, one.bytes, one.time);
        events(text.as_bytes()).iter().map(told).collect::<Vec<_>>()
    };
    let expected = [
        (allocate, 0, 10, Some(0)),
        (allocate, 10, 20, Some(1)),
        (free, 0, 10, Some(2)),
        (allocate, 0, 8, Some(2)),
        (free, 10, 20, Some(4)),
        (free, 0, 8, Some(4)),
    ];
    assert_eq!(told(TFLITE), expected);
    // The plan occurs twice, because it is printed again when buffers are added.
    assert_eq!(told(&format!("{TFLITE}{TFLITE}")), expected);
    for (from, to, expected) in [
        ("size=20", "size=-2", "line 3: size=-2 is negative"),
        ("offset=10", "offset=18446744073709551616", "line 3: offset="),
        ("last_used=3", "last_used=9223372036854775807", "line 3: last_used is too large"),
        ("offset=10", "offset=5", "the buffers cannot be planned"),
    ] {
        let message = message(TFLITE.replacen(from, to, 1).as_bytes());
        assert!(message.starts_with(expected), "{to}: {message}");
    }
}

#[test]
fn xla_buffer_assignment() {
    let told = |text: &str| {
        let told = |one: &Event| (one.action, one.address, one.bytes, one.time);
        events(text.as_bytes()).iter().map(told).collect::<Vec<_>>()
    };
    let (reserve, allocate, free) = (Action::Reserve, Action::Allocate, Action::Free);
    // `multiply` and `add` share bytes at time 2, because XLA adds in place.
    let expected = [
        (reserve, 0, 16, Some(0)),
        (reserve, 256, 48, Some(0)),
        (allocate, 0, 16, Some(0)),
        (allocate, 256, 16, Some(1)),
        (allocate, 272, 16, Some(2)),
        (free, 272, 16, Some(4)),
        (free, 0, 16, Some(5)),
        (free, 256, 16, Some(5)),
    ];
    assert_eq!(told(XLA), expected);
    let without = XLA.split("HloLiveRange").next().unwrap();
    let expected = [
        (reserve, 0, 16, Some(0)),
        (reserve, 256, 48, Some(0)),
        (allocate, 0, 16, Some(0)),
        (allocate, 256, 48, Some(0)),
    ];
    assert_eq!(told(without), expected);
    for (from, to, expected) in [
        ("size 48", "size 18446744073709551616", "line 4: size "),
        ("size=16,offset=16", "size=16,offset=33", "line 6: 16 bytes at offset 33 exceed"),
        ("size=16,offset=16", "size=16,offset=18446744073709551615", "line 6: 16 bytes at offset"),
    ] {
        let message = message(XLA.replacen(from, to, 1).as_bytes());
        assert!(message.starts_with(expected), "{to}: {message}");
    }
}

/// A log that contains foreign lines is read if its format is given. A line that looks like an
/// event but is invalid is never skipped.
#[test]
fn rmm_among_other_lines() {
    let text = "26/01/01 14:21:19 INFO Init: size = 30000.0 MB, gpuId 0\n\
        Thread,Time,Action,Pointer,Size,Stream\n\
        1979932,14:21:19.998533,allocate,0x30a000000,256,0x2\n\
        26/01/01 14:21:20 WARN a,b,c,d,e,f,g\n\
        1980043,14:21:32.661875,free,0x30a000000,256,0x2\n";
    assert!(message(text.as_bytes()).starts_with("the format of the log is unknown"));
    let (read, skipped) = among_others(text, Format::Rmm).unwrap();
    assert_eq!((read.len(), skipped), (2, 2));
    assert_eq!(read[1].place, Place::Line(5));
    for broken in ["free,0x30a000000,x", "free,0x30a000000", "grow,0x30a000000,256,0x2"] {
        let text = text.replace("free,0x30a000000,256,0x2", broken);
        let error = among_others(&text, Format::Rmm).unwrap_err();
        assert!(error.to_string().starts_with("line 5: "), "{broken}: {error}");
    }
}

/// If the format of a file is not known, the error names the nearest one.
#[test]
fn nearest_formats_are_named() {
    for (bytes, expected) in [
        (&b"id,lower,upper\na,0,1\n"[..], "minimalloc, without the column size"),
        (b"\xff\xfeT\0h\0", "text in UTF-16"),
        (b"[{\"action\":\"alloc\"}]", "json, but the file is a JSON array"),
        (b"(dp0\nS'segments'\np1\n.", "pytorch, as a pickle with protocol 0 or 1"),
        (b"{\"traceEvents\":[]}", "a trace in the format of Chrome"),
    ] {
        let message = message(bytes);
        assert!(message.contains(&format!("(the closest format is {expected}")), "{message}");
    }
    assert!(!message(b"hello\n").contains("nearest"));
}

/// A single CR also ends a line, and is counted as a line end.
#[test]
fn lines_that_end_with_a_carriage_return() {
    let unix = "Thread,Time,Action,Pointer,Size,Stream\n\n1,1:1:1.1,allocate,0x10,8,0\n1,1:1:1.1,grow,0x10,8,0\n";
    let expected = message(unix.as_bytes());
    assert!(expected.starts_with("line 4: Action"), "{expected}");
    for end in ["\r", "\r\n"] {
        assert_eq!(message(unix.replace('\n', end).as_bytes()), expected, "{end:?}");
    }
    let problem = "{\n\"operations\": 1,\n\"edges\": [],\n\"buffers\": 7}";
    let expected = message(problem.as_bytes());
    assert!(expected.contains("line 4"), "{expected}");
    assert_eq!(message(problem.replace('\n', "\r").as_bytes()), expected);
    // A chunk of the file ends between CR and LF.
    for capacity in 1..40 {
        let text = unix.replace('\n', "\r\n");
        let mut source = std::io::BufReader::with_capacity(capacity, Cursor::new(text));
        let whole = Selection::default();
        let outcome = read(&mut source, Format::Rmm, &whole, &mut Frames::new(), &mut |_| {});
        assert!(outcome.unwrap_err().to_string().starts_with("line 4: "), "{capacity}");
    }
}

/// The error names the part that refers to an operation that does not exist.
#[test]
fn operations_that_do_not_exist() {
    let graph = |edges: &str, allocated: u32, freed: u32| {
        format!(
            "{{\"operations\":3,\"edges\":[{edges}],\"buffers\":[{{\"id\":\"a\",\"size\":8,\"allocated_by\":0}},\
             {{\"id\":\"weights\",\"size\":8,\"allocated_by\":{allocated},\"freed_by\":[{freed}]}}]}}"
        )
    };
    let there_are = "there is no operation 3: the graph has 3 operations, numbered from 0";
    for (text, place) in [
        (graph("", 3, 1), "buffer weights, allocated_by"),
        (graph("", 1, 3), "buffer weights, freed_by"),
        (graph("{\"from\":0,\"to\":1},{\"from\":1,\"to\":3}", 0, 1), "edges[1]"),
    ] {
        assert_eq!(message(text.as_bytes()), format!("{place}: {there_are}"));
    }
    let streams = graph("", 0, 1).replace("]}]}", "]}],\"streams\":[0]}");
    assert_eq!(message(streams.as_bytes()), "streams: the list has 1 entries, but must have 3");
}
