//! How often this thread touched a page that it had to be given first, as Linux counts it.

use std::fs;

/// The thread's minor faults so far; `None` where the system does not tell.
pub(crate) fn minor() -> Option<u64> {
    parse(&fs::read_to_string("/proc/thread-self/stat").ok()?)
}

/// Field 10 of `proc_pid_stat(5)`. The second one is a name in brackets that may hold anything, so
/// counting starts behind its last bracket.
fn parse(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(7)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn the_name_may_hold_brackets_and_spaces() {
        let stat = "7 (a ) b) R 1 2 3 4 5 6 4321 8 9";
        assert_eq!(parse(stat), Some(4_321));
    }

    #[test]
    fn too_short_a_line_tells_nothing() {
        assert_eq!(parse("7 (name) R 1 2"), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn touching_new_memory_faults() {
        let before = super::minor().unwrap();
        let pages = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = super::minor().unwrap();
        assert!(pages.len() > 1 && after > before);
    }
}
