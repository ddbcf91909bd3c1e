//! Attacks on the pickle reader.

use super::super::command::data;
use super::list::{Attack, attack, million};

/// Creates a pickle of protocol 4 with these opcodes.
fn pickle(opcodes: &[&[u8]]) -> Vec<u8> {
    [&[0x80, 4][..], &opcodes.concat()].concat()
}

pub(super) fn of_pytorch() -> Vec<Attack> {
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
            "a call to os.system",
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
        attack("an opcode that builds an object", "pytorch", pickle(&[b"}}b."]), 2, "opcode BUILD"),
        attack("a persistent name", "pytorch", pickle(&[b"P1\n."]), 2, "opcode PERSID"),
        attack("a list in itself", "pytorch", pickle(&[b"]\x94h\0a."]), 2, "segments[0]"),
        attack(
            "80 lists, each contained twice in the next",
            "pytorch",
            pickle(&[&doubled, b"."]),
            2,
            "segments[0]",
        ),
        attack(
            "a million nested lists",
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
        attack("a size of 65 bits", "pytorch", pickle(&huge), 2, "device_traces[0][0]: size is an"),
        attack("protocol 200", "pytorch", b"\x80\xc8].".to_vec(), 2, "byte"),
    ]
}
