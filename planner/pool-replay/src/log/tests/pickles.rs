//! Tests pickles: hand-made ones, one by Python, and those with refused contents.

use super::super::pickle::Opcode;
use super::*;

/// A short, hand-made snapshot in the style of `Pickler`, which memoizes a value under an explicit
/// number.
pub(super) struct Pickler(pub(super) Vec<u8>);

impl Pickler {
    pub(super) fn new(protocol: u8) -> Self {
        Self(vec![0x80, protocol])
    }

    pub(super) fn op(mut self, byte: u8) -> Self {
        self.0.push(byte);
        self
    }

    pub(super) fn text(mut self, text: &str) -> Self {
        self.0.extend([0x8c, u8::try_from(text.len()).unwrap()]);
        self.0.extend(text.as_bytes());
        self
    }

    pub(super) fn int(mut self, number: i64) -> Self {
        self.0.extend([0x8a, 8]);
        self.0.extend(number.to_le_bytes());
        self
    }

    pub(super) fn put(self, number: u8) -> Self {
        self.op(b'q').op(number)
    }

    pub(super) fn get(self, number: u8) -> Self {
        self.op(b'h').op(number)
    }

    /// An entry of a trace whose frames are a list in the memo.
    fn entry(self, action: &str, addr: i64, size: i64, frames: u8) -> Self {
        let new = self.op(b'}').op(b'(');
        let named = new.text("action").text(action).text("addr").int(addr).text("size").int(size);
        named.text("frames").get(frames).text("stream").op(b'K').op(3).op(b'u')
    }
}

/// Creates a pickle with two events, a buffer that was allocated before them, shared frames, and
/// unused keys.
pub(super) fn snapshot() -> Vec<u8> {
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
    assert_eq!(
        events[2].stack,
        Stack::default(),
        "the frame that frees the buffer did not allocate it"
    );
}

#[test]
fn snapshot_as_python_writes_it() {
    let bytes = include_bytes!("../../../../data/training.pickle");
    let (events, frames) = events_from(bytes, None).unwrap();
    let count = |action| events.iter().filter(|event| event.action == action).count();
    assert_eq!((count(Action::Allocate), count(Action::Free), count(Action::Fail)), (137, 112, 1));
    assert_eq!(count(Action::RequestFree), 112);
    let last = events.iter().rfind(|event| event.action == Action::Allocate).unwrap();
    let named: Vec<_> = frames.frames(last.stack).map(|(_, line, name)| (line, name)).collect();
    assert_eq!(named, [(72, "loss"), (57, "main")]);
}

/// Every opcode that could run code is refused with its name, at any position.
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

/// Every byte, used as an opcode, either builds data or is refused, with the same result in both
/// passes.
#[test]
fn opcodes_all_have_an_answer() {
    let built: Vec<u8> = (0..=255).filter(|&byte| Opcode::of(byte).is_ok()).collect();
    assert_eq!(built.len(), 45);
    // Python's list contains 68 opcodes. Of these, 15 have effects and 8 are not supported.
    assert_eq!(68 - 15 - 8, built.len());
}

#[test]
fn pickles_that_ask_for_too_much() {
    let deep: Vec<u8> =
        [0x80, 4].into_iter().chain([b']'; 1000]).chain([b'a'; 999]).chain(*b".").collect();
    assert!(
        message(&deep).ends_with("the pickle has more than 64 levels of nesting"),
        "{}",
        message(&deep)
    );
    // A list contains itself, through the memo, and two lists contain each other.
    let own = Pickler::new(4).op(b']').put(0).get(0).op(b'a').op(b'.').0;
    assert_eq!(message(&own), "segments[0]: the value is not a dictionary");
    let both =
        Pickler::new(4).op(b']').put(0).op(b']').put(1).get(0).op(b'a').op(b'a').get(1).op(b'.');
    assert_eq!(message(&both.0), "segments[0]: the value is not a dictionary");
    // Each list contains the previous list ten times. If the lists were copied, there would be
    // 10^60 lists.
    let mut laughs = Pickler::new(4).op(b']').put(0);
    for level in 1..60 {
        laughs = laughs.op(b']').put(level).op(b'(');
        laughs = (0..10).fold(laughs, |laughs, _| laughs.get(level - 1)).op(b'e');
    }
    assert!(message(&laughs.op(b'.').0).starts_with("segments[0]"));
    // The pickles state lengths, but the bytes are missing.
    for start in [
        &b"X\xff\xff\xff\x00"[..],
        b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7f",
        b"\x8b\xff\xff\xff\x7f",
    ] {
        let pickle = [b"\x80\x04", start, b"abc"].concat();
        assert_eq!(message(&pickle), "byte 2: the file ends before the pickle is complete");
    }
    let long = [b"\x80\x04", &b"\x8d\xff\xff\xff\xff\xff\xff\xff\xff"[..]].concat();
    assert_eq!(message(&long), "byte 2: the pickle has more than 16777216 bytes in one text");
    assert_eq!(
        message(b"\x80\x06."),
        "byte 0: protocol 6 is not supported: write the pickle with protocol 2 to 5"
    );
    assert_eq!(
        message(b"\x80\x04h\x01."),
        "byte 2: entry 1 of the memo is read before it is stored"
    );
    assert!(message(b"\x80\x042.").starts_with("byte 2: opcode DUP"));
    assert!(message(b"\x80\x04]]s.").contains("SETITEM"));
    assert!(message(b"\x80\x04.").contains("STOP"));
    // Values below a mark cannot be accessed until the mark is used.
    assert!(message(b"\x80\x04](0e.").starts_with("byte 4: opcode POP"));
    assert!(message(b"\x80\x04](a.").starts_with("byte 4: opcode APPEND"));
}

/// Sizes and addresses that are too large are errors that state their place.
#[test]
fn snapshots_that_are_none() {
    let trace = |entry: Pickler| entry.op(b'a').op(b'a').op(b's').op(b'.').0;
    let start = || Pickler::new(4).op(b'}').text("device_traces").op(b']').op(b']');
    let negative = trace(start().op(b']').put(0).op(b'0').entry("alloc", -1, 1, 0));
    assert_eq!(message(&negative), "device_traces[0][0]: addr is -1, which is negative");
    let empty = trace(start().op(b'}'));
    assert_eq!(message(&empty), "device_traces[0][0]: the action is missing");
    assert_eq!(message(b"\x80\x04N."), "the snapshot: the root is neither a dictionary nor a list");
    assert!(message(b"\x80\x04}.").contains("neither segments nor device_traces"));
    let mut huge = snapshot();
    let size = huge.windows(8).position(|bytes| bytes == 7680_i64.to_le_bytes()).unwrap();
    huge[size..size + 8].copy_from_slice(&i64::MAX.to_le_bytes());
    assert!(events_from(&huge, None).is_ok(), "up to 63 bits");
    let address = huge.windows(8).position(|bytes| bytes == 4096_i64.to_le_bytes()).unwrap();
    huge[address..address + 8].copy_from_slice(&(i64::MAX - 8).to_le_bytes());
    let active = huge.windows(8).position(|bytes| bytes == 512_i64.to_le_bytes()).unwrap();
    huge[active..active + 8].copy_from_slice(&i64::MAX.to_le_bytes());
    assert!(
        message(&huge).starts_with("segments[0].blocks[1]: the end of the block"),
        "{}",
        message(&huge)
    );
}
