//! Random buffers with names that are difficult to store in a file, and an offset for each buffer.

use std::collections::BTreeSet;

use pool_plan::{Buffer, Gap};
use proptest::prelude::*;

/// Names that contain everything that is difficult to store in a file.
fn names() -> impl Strategy<Value = String> {
    let letters = prop::sample::select(vec![
        ',', '"', '\n', '\r', ' ', '\t', 'a', 'b', ';', '\'', '\\', '#', '@', '-', '\0', '\u{a0}',
        '\u{feff}', '\u{2028}', 'é', '漢', '🦀',
    ]);
    prop_oneof![
        3 => prop::collection::vec(letters, 0..6).prop_map(String::from_iter),
        1 => any::<String>(),
        1 => Just("offset".to_owned()),
    ]
}

/// Buffers with different names, and an offset for each of them.
pub(crate) fn placed() -> impl Strategy<Value = (Vec<Buffer>, Vec<u64>)> {
    let row = (names(), -5..5_i64, 1..9_i64, any::<bool>());
    prop::collection::vec(row, 1..6).prop_map(|rows| {
        let mut known = BTreeSet::new();
        let rows = rows.into_iter().filter(|row| known.insert(row.0.clone()));
        let buffer = |(id, lower, length, gap): (String, i64, i64, bool)| {
            let mut buffer = Buffer::new(id, lower, lower + length, 8);
            if gap && length > 2 {
                buffer.gaps = vec![Gap { lower: lower + 1, upper: lower + 2 }];
            }
            buffer
        };
        let buffers: Vec<Buffer> = rows.map(buffer).collect();
        let offsets = (0..buffers.len() as u64).map(|index| index * 8).collect();
        (buffers, offsets)
    })
}
