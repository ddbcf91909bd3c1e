//! The attacks, by the format that each is taken for.

use super::super::command::data;
use super::super::memory::is_thorough;

/// A file, the format that it is taken for, and what it must get.
pub(super) struct Attack {
    pub(super) name: &'static str,
    pub(super) format: &'static str,
    pub(super) bytes: Vec<u8>,
    pub(super) code: i32,
    pub(super) says: &'static str,
}

fn attack(
    name: &'static str,
    format: &'static str,
    bytes: impl Into<Vec<u8>>,
    code: i32,
    says: &'static str,
) -> Attack {
    Attack { name, format, bytes: bytes.into(), code, says }
}

fn rmm(lines: &str) -> Vec<u8> {
    format!("Thread,Time,Action,Pointer,Size,Stream\n{lines}").into_bytes()
}

/// A pickle of protocol 4 with these opcodes.
fn pickle(opcodes: &[&[u8]]) -> Vec<u8> {
    [&[0x80, 4][..], &opcodes.concat()].concat()
}

fn graph(edges: &str, buffers: &str, more: &str) -> String {
    format!("{{\"operations\":3,\"edges\":[{edges}],\"buffers\":[{buffers}]{more}}}")
}

fn buffer(id: &str, size: &str, operations: (u32, u32), more: &str) -> String {
    let (from, to) = operations;
    format!("{{\"id\":\"{id}\",\"size\":{size},\"allocated_by\":{from},\"freed_by\":[{to}]{more}}}")
}

/// A million; in a short run, fewer.
fn million() -> usize {
    if is_thorough() { 1_000_000 } else { 20_000 }
}

fn of_rmm() -> Vec<Attack> {
    let allocate = "1,1:1:1.1,allocate,0x10,8,0\n";
    vec![
        attack("cut off in a line", "rmm", rmm(&(allocate.to_owned() + "1,1:1")), 2, "line 3"),
        attack("no such action", "rmm", rmm("1,1:1:1.1,grow,0x10,8,0\n"), 2, "line 2: Action"),
        attack(
            "an address of 65 bits",
            "rmm",
            rmm("1,1:1:1.1,free,0x10000000000000000,8,0\n"),
            2,
            "line 2: Pointer",
        ),
        attack(
            "a time of 423,000 years",
            "rmm",
            rmm("1,3709551615:0:0.4,free,0x10,8,0\n"),
            2,
            "line 2: Time",
        ),
        attack("a size below 0", "rmm", rmm("1,1:1:1.1,allocate,0x10,-8,0\n"), 2, "line 2: Size"),
        attack(
            "digits of another script",
            "rmm",
            rmm("1,1:1:1.1,allocate,0x10,٨,0\n"),
            2,
            "line 2: Size",
        ),
        attack(
            "bytes that are no UTF-8",
            "rmm",
            rmm("").into_iter().chain(*b"\xff\xfe,\n").collect::<Vec<u8>>(),
            2,
            "line 2: this is not UTF-8",
        ),
        attack(
            "a line of 2 MiB",
            "rmm",
            rmm(&"1".repeat(2 << 20)),
            2,
            "line 2: more than 1048576 bytes",
        ),
        attack(
            "an end beyond 64 bits",
            "rmm",
            rmm("1,1:1:1.1,allocate,0x10,18446744073709551615,0\n"),
            3,
            "line 2",
        ),
        attack(
            "a million equal allocations",
            "rmm",
            rmm(&allocate.repeat(million())),
            3,
            "events that cannot be: ",
        ),
        attack(
            "a million frees of nothing",
            "rmm",
            rmm(&"1,1:1:1.1,free,0x10,8,0\n".repeat(million())),
            3,
            "events that cannot be: ",
        ),
    ]
}

fn of_pytorch() -> Vec<Attack> {
    let doubled: Vec<u8> = (0..80_u8).flat_map(|_| *b"]\x94(h\0h\0e").collect();
    let name = |text: &str| [&[0x8c, text.len() as u8][..], text.as_bytes()].concat();
    let entry =
        [name("action"), name("alloc"), name("addr"), b"K\x08".to_vec(), name("size")].concat();
    let huge = [
        b"}".as_slice(),
        &name("device_traces"),
        b"]]}(",
        &entry,
        b"\x8a\x09\0\0\0\0\0\0\0\0\x01uaas.",
    ];
    let snapshot = std::fs::read(data("training.pickle")).unwrap();
    let half = snapshot[..snapshot.len() / 2].to_vec();
    vec![
        attack("half of a snapshot", "pytorch", half, 2, "byte"),
        attack(
            "a call of os.system",
            "pytorch",
            pickle(&[b"cos\nsystem\n(X\x02\0\0\0idtR."]),
            2,
            "byte 2: opcode GLOBAL",
        ),
        attack(
            "a call by STACK_GLOBAL",
            "pytorch",
            pickle(&[b"\x8c\x02os\x8c\x06system\x93."]),
            2,
            "opcode STACK_GLOBAL",
        ),
        attack("an object that is built", "pytorch", pickle(&[b"}}b."]), 2, "opcode BUILD"),
        attack("a persistent name", "pytorch", pickle(&[b"P1\n."]), 2, "opcode PERSID"),
        attack("a list in itself", "pytorch", pickle(&[b"]\x94h\0a."]), 2, "segments[0]"),
        attack(
            "80 lists, each twice in the next",
            "pytorch",
            pickle(&[&doubled, b"."]),
            2,
            "segments[0]",
        ),
        attack(
            "a million lists in each other",
            "pytorch",
            pickle(&[&vec![b']'; million()], &vec![b'a'; million() - 1], b"."]),
            2,
            "byte",
        ),
        attack(
            "a text of 2^63 bytes",
            "pytorch",
            pickle(&[b"\x8d\xff\xff\xff\xff\xff\xff\xff\x7fa."]),
            2,
            "byte",
        ),
        attack(
            "a number of 2^31 bytes",
            "pytorch",
            pickle(&[b"\x8b\xff\xff\xff\x7fa."]),
            2,
            "byte",
        ),
        attack(
            "a memo of 4 billion places",
            "pytorch",
            pickle(&[b"]r\xff\xff\xff\xffj\xff\xff\xff\xff0."]),
            0,
            "0 events",
        ),
        attack("a size of 65 bits", "pytorch", pickle(&huge), 2, "device_traces[0][0]"),
        attack("protocol 200", "pytorch", b"\x80\xc8].".to_vec(), 2, "byte"),
    ]
}

fn of_json_lines() -> Vec<Attack> {
    let line = |text: &str| format!("{{\"action\":\"alloc\",{text}}}\n");
    vec![
        attack("cut off in a line", "json", "{\"action\":\"alloc\",\"by", 2, "line 1: column 21"),
        attack("half a million brackets", "json", "[".repeat(million() / 2), 2, "line 1"),
        attack(
            "a key that is none",
            "json",
            line("\"adress\":1"),
            2,
            "line 1: column 26: unknown field",
        ),
        attack("a key twice", "json", line("\"bytes\":1,\"bytes\":2"), 2, "duplicate field"),
        attack("a number of 10^30", "json", line("\"bytes\":1e30"), 2, "line 1"),
        attack("a size below 0", "json", line("\"bytes\":-1"), 2, "line 1"),
        attack(
            "half of a character",
            "json",
            line("\"frames\":[{\"name\":\"\\ud800\"}]"),
            2,
            "line 1",
        ),
        attack("a device of 33 bits", "json", line("\"device\":4294967296"), 2, "beyond 32 bits"),
        attack(
            "an end beyond 64 bits",
            "json",
            line("\"address\":18446744073709551615,\"bytes\":9"),
            3,
            "line 1",
        ),
        attack(
            "live bytes beyond 64 bits",
            "json",
            line("\"address\":0,\"bytes\":18446744073709551615")
                + &line("\"address\":18446744073709551615,\"bytes\":1"),
            3,
            "line 2",
        ),
        attack(
            "a million equal lines",
            "json",
            line("\"bytes\":8").repeat(million()),
            3,
            "events that cannot be: ",
        ),
        attack(
            "a name that clears the screen",
            "json",
            line("\"bytes\":8,\"frames\":[{\"name\":\"\\u001b[2J\\u202e gnp \\u0007\"}]"),
            0,
            "\u{fffd}[2J\u{fffd} gnp \u{fffd}",
        ),
        attack(
            "a key that clears the screen",
            "json",
            line("\"\\u001b[2J\":8"),
            2,
            "line 1: column 29: unknown field `\u{fffd}[2J`",
        ),
    ]
}

fn of_problems() -> Vec<Attack> {
    let (a, b) = (buffer("a", "8", (0, 1), ""), buffer("b", "8", (1, 2), ""));
    let both = format!("{a},{b}");
    let edge = |from: u64, to: u64| format!("{{\"from\":{from},\"to\":{to}}}");
    let placed = [("a", "\"offset\":0"), ("b", "\"offset\":4")]
        .map(|(id, offset)| buffer(id, "8", (0, 1), &format!(",{offset}")));
    vec![
        attack("cut off", "problem", &graph("", &both, "")[..60], 2, "line 1, column 60"),
        attack(
            "operations in a circle",
            "problem",
            graph(&format!("{},{}", edge(0, 1), edge(1, 0)), &a, ""),
            2,
            "circle: [",
        ),
        attack(
            "an operation that is not there",
            "problem",
            graph(&edge(0, u64::MAX), &a, ""),
            2,
            "does not exist",
        ),
        attack(
            "2^64-1 operations",
            "problem",
            graph("", &a, "").replace(":3,", ":18446744073709551615,"),
            0,
            "8 bytes live",
        ),
        attack(
            "sizes beyond 63 bits",
            "problem",
            graph("", &buffer("a", "9223372036854775808", (0, 1), ""), ""),
            2,
            "exceed 9223372036854775807",
        ),
        attack(
            "two buffers of one name",
            "problem",
            graph("", &format!("{a},{a}"), ""),
            2,
            "both called a",
        ),
        attack(
            "offsets that collide",
            "problem",
            graph("", &placed.join(","), ""),
            2,
            "fixed offsets collide",
        ),
        attack(
            "streams for other operations",
            "problem",
            graph("", &a, ",\"streams\":[0]"),
            2,
            "1 streams, and not 3",
        ),
        attack(
            "a key that is none",
            "problem",
            graph("", &a, ",\"stream\":[]"),
            2,
            "unknown field `stream`",
        ),
        attack(
            "100,000 brackets",
            "problem",
            format!("{{\"operations\":{}", "[".repeat(100_000)),
            2,
            "line 1, column 14",
        ),
        attack(
            "a lifetime backwards",
            "problem",
            "{\"buffers\":[{\"id\":\"a\",\"lower\":2,\"upper\":1,\"size\":1}]}",
            2,
            "empty or inverted",
        ),
    ]
}

fn of_minimalloc() -> Vec<Attack> {
    let csv = |lines: &str| format!("id,lower,upper,size\n{lines}");
    vec![
        attack("cut off in a line", "minimalloc", csv("a,0,1,8\nb,0"), 2, "line 3"),
        attack("a lifetime backwards", "minimalloc", csv("a,2,1,8\n"), 2, "line 2, column 5"),
        attack(
            "sizes beyond 63 bits",
            "minimalloc",
            csv("a,0,1,9223372036854775807\nb,0,1,1\n"),
            2,
            "exceed",
        ),
        attack(
            "a quote that does not end",
            "minimalloc",
            csv(&("\"".to_owned() + &"x\n".repeat(million()))),
            2,
            "line 2",
        ),
        attack("digits of another script", "minimalloc", csv("a,0,1,٨\n"), 2, "line 2, column 7"),
        attack(
            "a million equal lines",
            "minimalloc",
            csv(&"a,0,1,8\n".repeat(million())),
            2,
            "both called a",
        ),
        attack(
            "a column twice",
            "minimalloc",
            "id,lower,upper,size,end\na,0,1,8,1\n",
            2,
            "line 1, column 21",
        ),
    ]
}

fn of_no_format() -> Vec<Attack> {
    vec![
        attack("nothing", "", "", 2, "no log that is known"),
        attack("zeros", "", vec![0; 1 << 20], 2, "no log that is known"),
        attack(
            "an ELF file",
            "",
            std::fs::read(env!("CARGO_BIN_EXE_pool-plan")).unwrap(),
            2,
            "no log that is known",
        ),
        attack("an empty object", "", "{}", 2, "line 1"),
        attack("a mark of the byte order alone", "", "\u{feff}", 2, "no log that is known"),
    ]
}

/// What takes the most time: more than is planned.
fn of_size() -> Vec<Attack> {
    if !is_thorough() {
        return Vec::new();
    }
    let edges = "{\"from\":0,\"to\":1},".repeat(4_200_000);
    let buffers: String = (0..1_100_000).map(|id| format!("{id},0,1,8\n")).collect();
    vec![
        attack(
            "4,200,000 equal edges",
            "problem",
            graph(edges.trim_end_matches(','), &buffer("a", "8", (0, 1), ""), ""),
            2,
            "4200000 edges are more than 4194304",
        ),
        attack(
            "1,100,000 buffers",
            "minimalloc",
            format!("id,lower,upper,size\n{buffers}"),
            2,
            "1100000 buffers and gaps are more than 1048576",
        ),
    ]
}

/// All of them.
pub(super) fn all() -> Vec<Attack> {
    let all = [
        of_rmm(),
        of_pytorch(),
        of_json_lines(),
        of_problems(),
        of_minimalloc(),
        of_no_format(),
        of_size(),
    ];
    all.into_iter().flatten().collect()
}
