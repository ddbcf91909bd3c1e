//! The readers: hand-made files, every prefix of them, mutations, and files that ask for too much.

use std::io::Cursor;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::pickle::Opcode;
use super::*;

/// A snapshot of `Pickler`'s in few bytes, by hand: what is memoized has the number that it was put under.
struct Pickler(Vec<u8>);

impl Pickler {
    fn new(protocol: u8) -> Self {
        Self(vec![0x80, protocol])
    }

    fn op(mut self, byte: u8) -> Self {
        self.0.push(byte);
        self
    }

    fn text(mut self, text: &str) -> Self {
        self.0.extend([0x8c, u8::try_from(text.len()).unwrap()]);
        self.0.extend(text.as_bytes());
        self
    }

    fn int(mut self, number: i64) -> Self {
        self.0.extend([0x8a, 8]);
        self.0.extend(number.to_le_bytes());
        self
    }

    fn put(self, number: u8) -> Self {
        self.op(b'q').op(number)
    }

    fn get(self, number: u8) -> Self {
        self.op(b'h').op(number)
    }

    /// An entry of a trace, whose frames are those of a list in the memo.
    fn entry(self, action: &str, addr: i64, size: i64, frames: u8) -> Self {
        let new = self.op(b'}').op(b'(');
        let named = new.text("action").text(action).text("addr").int(addr).text("size").int(size);
        named.text("frames").get(frames).text("stream").op(b'K').op(3).op(b'u')
    }
}

/// Two events, a buffer from before, frames that are shared, and keys that nobody needs.
fn snapshot() -> Vec<u8> {
    let new = Pickler::new(4).op(b'}').op(b'(');
    let frames = new.text("unused").op(b']').put(7).op(b'}').put(8).op(b'(').text("filename");
    let frames = frames.text("net.py").text("line").op(b'K').op(12).text("name").text("fü");
    let segments = frames.op(b'u').op(b'a').text("segments").op(b']').op(b'}').op(b'(');
    let head = segments.text("address").int(4096).text("total_size").int(8192).text("device");
    let blocks = head.op(b'K').op(0).text("blocks").op(b']').op(b'(');
    let active = blocks.op(b'}').op(b'(').text("size").int(512).text("state");
    let active = active.text("active_allocated").text("requested_size").int(500);
    let idle = active.text("frames").get(7).op(b'u').op(b'}').op(b'(').text("size").int(7680);
    let done = idle.text("state").text("inactive").op(b'u').op(b'e').op(b'u').op(b'a');
    let traces = done.text("device_traces").op(b']').op(b']').op(b'(');
    let entries = traces.entry("alloc", 8192, 100, 7).entry("free_requested", 8192, 100, 7);
    let more = entries.entry("free_completed", 8192, 100, 7).entry("free_completed", 9216, 30, 7);
    more.entry("oom", 0, 1 << 40, 7).op(b'e').op(b'a').op(b'u').op(b'.').0
}

const RMM: &str = "Thread,Time,Action,Pointer,Size,Stream\r\n\
    1,16:48:38.000002,allocate,0x7f00,256,0\r\n\
    1,16:48:38:000003,allocate failure,(nil),18446744073709551615,7f01\r\n\
    Thread,Time,Action,Pointer,Size,Stream\n\n\
    2,00:00:00.999999,free,0X7f00,256,2";

const JSON: &str = "{\"action\":\"alloc\",\"address\":64,\"bytes\":512,\"requested\":500,\"device\":1,\
    \"stream\":2,\"time\":-5,\"frames\":[{\"filename\":\"ä.rs\",\"line\":3,\"name\":\"f\"}]}\n\
    {\"action\":\"free\",\"address\":64,\"device\":1}\n{\"action\":\"alloc_failed\",\"bytes\":9}\n";

const MINIMALLOC: &str = "id,lower,upper,size,offset\na,0,3,8,0\nb,3,5,8,0\nc,1,4,16,8\n";

fn events_from(bytes: &[u8], format: Option<Format>) -> Result<(Vec<Event>, Frames), LogError> {
    let mut source = Cursor::new(bytes);
    let format = match format {
        Some(format) => format,
        None => Format::of(&mut source)?,
    };
    let (mut events, mut frames) = (Vec::new(), Frames::new());
    read(&mut source, format, &mut frames, &mut |event| events.push(event))?;
    Ok((events, frames))
}

fn events(text: &[u8]) -> Vec<Event> {
    events_from(text, None).unwrap().0
}

fn message(bytes: &[u8]) -> String {
    crate::error_chain(&events_from(bytes, None).unwrap_err())
}

#[test]
fn rmm_log() {
    let day = |seconds: i64| Some(((16 * 60 + 48) * 60 + 38) * 1_000_000 + seconds);
    let event =
        |action, line, address, bytes| Event::new(action, Place::Line(line), address, bytes);
    let expected = vec![
        Event { time: day(2), ..event(Action::Allocate, 2, 0x7f00, 256) },
        Event { time: day(3), stream: 0x7f01, ..event(Action::Fail, 3, 0, u64::MAX) },
        Event { time: Some(999_999), stream: 2, ..event(Action::Free, 6, 0x7f00, 256) },
    ];
    assert_eq!(events(RMM.as_bytes()), expected);
}

#[test]
fn rmm_errors_name_the_line() {
    let cases = [
        ("1,16:48:38.1,realloc,0x1,1,0", "line 2: Action: \"realloc\" is none of"),
        ("1,16:48:38.1,free,0x1,18446744073709551616,0", "line 2: Size: \"18446744073709551616\""),
        ("1,16:48:38.1,free,0x1,-1,0", "line 2: Size: \"-1\""),
        ("1,16:48:38.1,free,0x10000000000000000,1,0", "line 2: Pointer: "),
        ("1,16:48:38.1,free,0x+1,1,0", "line 2: Pointer: "),
        ("1,16:48:38.1,free,0x1,1,x", "line 2: Stream: \"x\""),
        ("1,16:48,free,0x1,1,0", "line 2: Time: \"16:48\""),
        ("1,99999999999:1:1.1,free,0x1,1,0", "line 2: Time: "),
        ("1,3709551615:0:0.4,free,0x1,1,0", "line 2: Time: "),
        ("1,4294967295:4294967295:4294967295.4,free,0x1,1,0", "line 2: Time: "),
        ("1,16:48:38.1,free", "line 2: there is no column \"Pointer\""),
        ("1,16:48:38.1,free,0x1,1,0,", "line 2: there are more fields"),
    ];
    for (line, expected) in cases {
        let text = format!("Thread,Time,Action,Pointer,Size,Stream\n{line}\n");
        let message = message(text.as_bytes());
        assert!(message.starts_with(expected), "{line}: {message}");
    }
    let latin = b"Thread,Time,Action,Pointer,Size,Stream\n1,16:48:38.1,fr\xe9e,0x1,1,0\n";
    assert!(message(latin).starts_with("line 2: this is not UTF-8"));
    let mut long = b"Thread,Time,Action,Pointer,Size,Stream\n".to_vec();
    long.resize(3 << 20, b'1');
    assert_eq!(message(&long), "line 2: more than 1048576 bytes in one line");
}

#[test]
fn json_log() {
    let (events, frames) = events_from(JSON.as_bytes(), None).unwrap();
    let [first, second, third] = events[..] else { panic!("{events:?}") };
    let Event { action, address, bytes, requested, device, stream, time, .. } = first;
    assert_eq!((action, address, bytes, requested), (Action::Allocate, 64, 512, Some(500)));
    assert_eq!((device, stream, time, first.place), (1, 2, Some(-5), Place::Line(1)));
    assert!(frames.frames(first.stack).eq([("ä.rs", 3, "f")]));
    let free = Event::new(Action::Free, Place::Line(2), 64, 0);
    assert_eq!(second, Event { device: 1, ..free });
    assert_eq!(third, Event::new(Action::Fail, Place::Line(3), 0, 9));
    // What is written is what was read.
    let line = |event: &Event| serde_json::to_string(&Line::of(event, &frames)).unwrap();
    let written: Vec<String> = [first, second, third].iter().map(line).collect();
    let again = events_from(written.join("\n").as_bytes(), None).unwrap().0;
    assert_eq!(again, [first, second, third]);
}

#[test]
fn json_errors_name_the_line() {
    let cases = [
        ("{\"action\":\"grow\"}", "line 2: column 16: unknown variant `grow`"),
        ("{\"action\":\"free\",\"adress\":1}", "line 2: column 25: unknown field `adress`"),
        ("{\"action\":\"free\",\"bytes\":-1}", "line 2: column 27: invalid value"),
        ("{\"action\":\"free\"", "line 2: column 16: EOF"),
        ("{\"action\":\"free\",\"device\":4294967296}", "line 2: device 4294967296 is beyond"),
        ("{\"action\":\"alloc\",\"bytes\":1,\"requested\":2}", "line 2: more bytes are requested"),
    ];
    for (line, expected) in cases {
        let message = message(format!("{{\"action\":\"free\"}}\n{line}").as_bytes());
        assert!(message.starts_with(expected), "{line}: {message}");
    }
    let deep = format!("{}{}", "{\"frames\":".repeat(10_000), "}".repeat(10_000));
    assert!(message(deep.as_bytes()).starts_with("line 1: "));
}

#[test]
fn minimalloc_problem() {
    let told: Vec<_> = events(MINIMALLOC.as_bytes())
        .iter()
        .map(|one| (one.action, one.address, one.time))
        .collect();
    let (allocate, free) = (Action::Allocate, Action::Free);
    let expected = [
        (allocate, 0, Some(0)),
        (allocate, 8, Some(1)),
        (free, 0, Some(3)),
        (allocate, 0, Some(3)),
        (free, 8, Some(4)),
        (free, 0, Some(5)),
    ];
    assert_eq!(told, expected);
    let collision = MINIMALLOC.replace("16,8", "16,4");
    assert!(
        message(collision.as_bytes()).contains("line 4, column 10"),
        "{}",
        message(collision.as_bytes())
    );
    assert_eq!(message(b"hello\n").split(':').next(), Some("this is no log that is known"));
}

#[test]
fn snapshot_by_hand() {
    let (events, frames) = events_from(&snapshot(), None).unwrap();
    let told: Vec<_> =
        events.iter().map(|one| (one.action, one.place, one.address, one.bytes)).collect();
    let expected = [
        (Action::Reserve, Place::Before, 0, 8192),
        (Action::Allocate, Place::Before, 4096, 500),
        (Action::Allocate, Place::Before, 9216, 30),
        (Action::Allocate, Place::Trace(0, 0), 8192, 100),
        (Action::RequestFree, Place::Trace(0, 1), 8192, 100),
        (Action::Free, Place::Trace(0, 2), 8192, 100),
        (Action::Free, Place::Trace(0, 3), 9216, 30),
        (Action::Fail, Place::Trace(0, 4), 0, 1 << 40),
    ];
    assert_eq!(told, expected);
    assert!(frames.frames(events[1].stack).eq([("net.py", 12, "fü")]));
    assert_eq!((events[3].stack, events[3].stream), (events[1].stack, 3));
    assert_eq!(events[2].stack, Stack::default(), "who freed it has not allocated it");
}

#[test]
fn snapshot_as_python_writes_it() {
    let bytes = include_bytes!("../../tests/data/training.pickle");
    let (events, frames) = events_from(bytes, None).unwrap();
    let count = |action| events.iter().filter(|event| event.action == action).count();
    assert_eq!((count(Action::Allocate), count(Action::Free), count(Action::Fail)), (137, 112, 1));
    assert_eq!(count(Action::RequestFree), 112);
    let last = events.iter().rfind(|event| event.action == Action::Allocate).unwrap();
    let named: Vec<_> = frames.frames(last.stack).map(|(_, line, name)| (line, name)).collect();
    assert_eq!(named, [(72, "loss"), (57, "main")]);
}

/// Whatever could run code is refused by its name, wherever it stands.
#[test]
fn opcodes_that_do_things_are_refused() {
    let names = [
        (b'c', "GLOBAL"),
        (b'i', "INST"),
        (b'o', "OBJ"),
        (b'R', "REDUCE"),
        (b'b', "BUILD"),
        (b'P', "PERSID"),
        (b'Q', "BINPERSID"),
        (0x81, "NEWOBJ"),
        (0x82, "EXT1"),
        (0x83, "EXT2"),
        (0x84, "EXT4"),
        (0x92, "NEWOBJ_EX"),
        (0x93, "STACK_GLOBAL"),
        (0x97, "NEXT_BUFFER"),
        (0x98, "READONLY_BUFFER"),
    ];
    for (byte, name) in names {
        let mut pickle = Pickler::new(4).op(b']').0;
        pickle.extend([byte]);
        pickle.extend(b"os\nsystem\n.");
        let expected = format!("byte 3: opcode {name} does more than build data");
        assert!(message(&pickle).starts_with(&expected), "{}", message(&pickle));
    }
    let message = message(b"\x80\x04cos\nsystem\n(X\x02\x00\x00\x00idtR.");
    assert!(message.starts_with("byte 2: opcode GLOBAL"), "{message}");
}

/// Every byte as an opcode is either one that is known to build data or refused, by both passes alike.
#[test]
fn opcodes_all_have_an_answer() {
    let built: Vec<u8> = (0..=255).filter(|&byte| Opcode::of(byte).is_ok()).collect();
    assert_eq!(built.len(), 45);
    // Python's list of opcodes has 68; 15 do things, 8 are not read.
    assert_eq!(68 - 15 - 8, built.len());
}

#[test]
fn pickles_that_ask_for_too_much() {
    let deep: Vec<u8> =
        [0x80, 4].into_iter().chain([b']'; 1000]).chain([b'a'; 999]).chain(*b".").collect();
    assert!(message(&deep).ends_with("more than 64 levels of nesting"), "{}", message(&deep));
    // In itself, by way of the memo; and two lists in each other.
    let own = Pickler::new(4).op(b']').put(0).get(0).op(b'a').op(b'.').0;
    assert_eq!(message(&own), "segments[0]: no dictionary");
    let both =
        Pickler::new(4).op(b']').put(0).op(b']').put(1).get(0).op(b'a').op(b'a').get(1).op(b'.');
    assert_eq!(message(&both.0), "segments[0]: no dictionary");
    // Each list has the one before it ten times: 10^60 lists, if they were copied.
    let mut laughs = Pickler::new(4).op(b']').put(0);
    for level in 1..60 {
        laughs = laughs.op(b']').put(level).op(b'(');
        laughs = (0..10).fold(laughs, |laughs, _| laughs.get(level - 1)).op(b'e');
    }
    assert!(message(&laughs.op(b'.').0).starts_with("segments[0]"));
    // Lengths without the bytes.
    for start in [
        &b"X\xff\xff\xff\x00"[..],
        b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"\x8b\xff\xff\xff\x7f",
    ] {
        let pickle = [b"\x80\x04", start, b"abc"].concat();
        assert_eq!(message(&pickle), "byte 2: the file ends here, before the pickle does");
    }
    let long = [b"\x80\x04", &b"\x8d\xff\xff\xff\xff\xff\xff\xff\xff"[..]].concat();
    assert_eq!(message(&long), "byte 2: more than 16777216 bytes in one text");
    assert_eq!(
        message(b"\x80\x06."),
        "byte 0: protocol 6 is newer than 5, the newest that is read"
    );
    assert_eq!(message(b"\x80\x04h\x01."), "byte 2: entry 1 of the memo was never put");
    assert!(message(b"\x80\x042.").starts_with("byte 2: opcode DUP"));
    assert!(message(b"\x80\x04]]s.").contains("SETITEM"));
    assert!(message(b"\x80\x04.").contains("STOP"));
    // What is below a mark is out of reach until the mark is used.
    assert!(message(b"\x80\x04](0e.").starts_with("byte 4: opcode POP"));
    assert!(message(b"\x80\x04](a.").starts_with("byte 4: opcode APPEND"));
}

/// Sizes and addresses that exceed their numbers are errors of the place.
#[test]
fn snapshots_that_are_none() {
    let trace = |entry: Pickler| entry.op(b'a').op(b'a').op(b's').op(b'.').0;
    let start = || Pickler::new(4).op(b'}').text("device_traces").op(b']').op(b']');
    let negative = trace(start().op(b']').put(0).op(b'0').entry("alloc", -1, 1, 0));
    assert_eq!(message(&negative), "device_traces[0][0]: addr is missing, or no number from 0");
    let empty = trace(start().op(b'}'));
    assert_eq!(message(&empty), "device_traces[0][0]: there is no action");
    assert_eq!(message(b"\x80\x04N."), "the snapshot: neither a dictionary nor a list");
    assert!(message(b"\x80\x04}.").contains("neither segments nor device_traces"));
    let mut huge = snapshot();
    let size = huge.windows(8).position(|bytes| bytes == 7680_i64.to_le_bytes()).unwrap();
    huge[size..size + 8].copy_from_slice(&i64::MAX.to_le_bytes());
    assert!(events_from(&huge, None).is_ok(), "up to 63 bits");
    let address = huge.windows(8).position(|bytes| bytes == 4096_i64.to_le_bytes()).unwrap();
    huge[address..address + 8].copy_from_slice(&(i64::MAX - 8).to_le_bytes());
    let active = huge.windows(8).position(|bytes| bytes == 512_i64.to_le_bytes()).unwrap();
    huge[active..active + 8].copy_from_slice(&i64::MAX.to_le_bytes());
    assert!(message(&huge).starts_with("segments[0].blocks[1]: its address"), "{}", message(&huge));
}

const PROBLEM: &str = r#"{"operations": 9, "edges": [{"from": 2, "to": 1}, {"from": 1, "to": 8, "kind": "programmatic"}],
  "buffers": [{"id": "a", "size": 512, "alignment": 256, "offset": 0, "allocated_by": 2, "freed_by": [2, 1]},
              {"id": "b", "size": 256, "offset": 512, "allocated_by": 1, "freed_by": [8, 1], "role": "pinned"}],
  "capacity": 1024, "streams": [0, 1, 0, 0, 0, 0, 0, 0, 2],
  "callers": [{"filename": "net.rs", "line": 7, "name": "acquire"}, {}]}"#;

#[test]
fn problem_of_a_graph() {
    let (events, frames) = events_from(PROBLEM.as_bytes(), None).unwrap();
    let told = |event: &Event| (event.action, event.place.to_string(), event.address, event.stream);
    let told: Vec<_> = events.iter().map(told).collect();
    let at = |action, place: &str, address, stream| (action, place.to_owned(), address, stream);
    let (allocate, free) = (Action::Allocate, Action::Free);
    let expected = [
        at(Action::Reserve, "the arena of the graph", 0, 0),
        at(allocate, "operation 2", 0, 0),
        at(allocate, "operation 2", 512, 0),
        at(free, "operation 1", 0, 1),
        at(free, "the end of the graph", 512, 1),
    ];
    assert_eq!(told, expected);
    let callers = frames.frames(events[1].stack).collect::<Vec<_>>();
    assert_eq!(callers, [("net.rs", 7, "acquire")]);
    assert_eq!(frames.frames(events[2].stack).count(), 0);
}

fn samples() -> [(Format, Vec<u8>); 5] {
    [
        (Format::Rmm, RMM.into()),
        (Format::Json, JSON.into()),
        (Format::Minimalloc, MINIMALLOC.into()),
        (Format::Pytorch, snapshot()),
        (Format::Problem, PROBLEM.into()),
    ]
}

/// Every prefix is read, or refused with a typed error; of a pickle every one is refused, at its end.
#[test]
fn truncated_at_every_byte() {
    for (format, sample) in samples() {
        assert_eq!(Format::of(&mut Cursor::new(&sample)).unwrap(), format);
        for length in 0..sample.len() {
            let outcome = events_from(&sample[..length], Some(format));
            if format == Format::Pytorch {
                let error = crate::error_chain(&outcome.unwrap_err());
                assert!(error.ends_with("the file ends here, before the pickle does"), "{error}");
            }
        }
    }
}

/// A file whose first bytes can be read, and no others.
struct Failing(Cursor<Vec<u8>>, u64);

impl std::io::Read for Failing {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let left = usize::try_from(self.1 - self.0.position()).unwrap().min(to.len());
        if left == 0 {
            return Err(std::io::Error::other("the disk is gone"));
        }
        std::io::Read::read(&mut self.0, &mut to[..left])
    }
}

impl Seek for Failing {
    fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
        self.0.seek(to)
    }
}

/// Where a file cannot be read on, that is the error, at whatever byte; it never looks like the end of the file.
#[test]
fn files_that_cannot_be_read_on() {
    for (format, sample) in samples() {
        for length in 0..sample.len() {
            let file = Failing(Cursor::new(sample.clone()), length as u64);
            let mut source = std::io::BufReader::with_capacity(16, file);
            let outcome = read(&mut source, format, &mut Frames::new(), &mut |_| {});
            assert!(matches!(outcome, Err(LogError::Io(_))), "{format:?} {length}: {outcome:?}");
        }
    }
}

/// However bytes are changed, removed or repeated, a reader answers.
#[test]
fn mutations_never_panic() {
    let cases = std::env::var("POOL_TEST_CASES").ok().and_then(|text| text.parse().ok());
    let config = Config { failure_persistence: None, ..Config::with_cases(cases.unwrap_or(1000)) };
    let edits = proptest::collection::vec((any::<u16>(), any::<u8>(), 0..4_u8), 1..8);
    let read_and_mutate = |(sample, edits): (usize, Vec<(u16, u8, u8)>)| {
        let (format, mut bytes) = samples()[sample].clone();
        for (at, byte, edit) in edits {
            let at = usize::from(at) % bytes.len().max(1);
            match edit {
                0 => bytes.insert(at, byte),
                1 if !bytes.is_empty() => drop(bytes.remove(at)),
                2 if !bytes.is_empty() => bytes.extend_from_within(at..),
                _ => bytes.iter_mut().skip(at).take(1).for_each(|one| *one = byte),
            }
        }
        if let Ok((events, frames)) = events_from(&bytes, Some(format)) {
            events.iter().for_each(|event| {
                frames.frames(event.stack).for_each(drop);
            });
        }
        Ok(())
    };
    let outcome = TestRunner::new(config).run(&(0..5_usize, edits), read_and_mutate);
    assert!(outcome.is_ok(), "{outcome:?}");
}

/// A million equal lines are read one at a time.
#[test]
fn million_equal_lines() {
    let header = "Thread,Time,Action,Pointer,Size,Stream\n";
    let line = "1,16:48:38.000002,allocate,0x7f00,256,0\n";
    let text = format!("{header}{}", line.repeat(1_000_000));
    let mut count = 0;
    let mut source = Cursor::new(text.as_bytes());
    read(&mut source, Format::Rmm, &mut Frames::new(), &mut |_| count += 1).unwrap();
    assert_eq!(count, 1_000_000);
}
