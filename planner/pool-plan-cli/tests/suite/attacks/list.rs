//! The attacks, grouped by the format of the file.

use super::super::memory::is_thorough;
use super::{logs, pickles, problems};

/// A file, the format that the reader assumes, and the expected result.
pub(super) struct Attack {
    pub(super) name: &'static str,
    pub(super) format: &'static str,
    pub(super) bytes: Vec<u8>,
    pub(super) code: i32,
    pub(super) says: &'static str,
}

pub(super) fn attack(
    name: &'static str,
    format: &'static str,
    bytes: impl Into<Vec<u8>>,
    code: i32,
    says: &'static str,
) -> Attack {
    Attack { name, format, bytes: bytes.into(), code, says }
}

/// Returns a million, or less in a short run.
pub(super) fn million() -> usize {
    if is_thorough() { 1_000_000 } else { 20_000 }
}

fn of_no_format() -> Vec<Attack> {
    vec![
        attack("nothing", "", "", 2, "format of the log is unknown"),
        attack("zeros", "", vec![0; 1 << 20], 2, "format of the log is unknown"),
        attack(
            "an ELF file",
            "",
            std::fs::read(env!("CARGO_BIN_EXE_pool-plan")).unwrap(),
            2,
            "format of the log is unknown",
        ),
        attack("an empty object", "", "{}", 2, "line 1"),
        attack("only a byte order mark", "", "\u{feff}", 2, "format of the log is unknown"),
    ]
}

/// Returns all attacks.
pub(super) fn all() -> Vec<Attack> {
    let all = [
        logs::of_rmm(),
        pickles::of_pytorch(),
        logs::of_json_lines(),
        problems::of_problems(),
        logs::of_minimalloc(),
        of_no_format(),
        problems::of_size(),
    ];
    all.into_iter().flatten().collect()
}
