//! Attacks on the reader of problems in JSON, and problems that are too large to plan.

use super::super::memory::is_thorough;
use super::list::{Attack, attack};

fn graph(edges: &str, buffers: &str, more: &str) -> String {
    format!("{{\"operations\":3,\"edges\":[{edges}],\"buffers\":[{buffers}]{more}}}")
}

fn buffer(id: &str, size: &str, operations: (u32, u32), more: &str) -> String {
    let (from, to) = operations;
    format!("{{\"id\":\"{id}\",\"size\":{size},\"allocated_by\":{from},\"freed_by\":[{to}]{more}}}")
}

pub(super) fn of_problems() -> Vec<Attack> {
    let (a, b) = (buffer("a", "8", (0, 1), ""), buffer("b", "8", (1, 2), ""));
    let both = format!("{a},{b}");
    let edge = |from: u64, to: u64| format!("{{\"from\":{from},\"to\":{to}}}");
    let placed = [("a", "\"offset\":0"), ("b", "\"offset\":4")]
        .map(|(id, offset)| buffer(id, "8", (0, 1), &format!(",{offset}")));
    vec![
        attack("cut off", "problem", &graph("", &both, "")[..60], 2, "line 1, column 60"),
        attack(
            "a cycle of operations",
            "problem",
            graph(&format!("{},{}", edge(0, 1), edge(1, 0)), &a, ""),
            2,
            "cycle: [",
        ),
        attack(
            "a missing operation",
            "problem",
            graph(&edge(0, u64::MAX), &a, ""),
            2,
            "there is no operation",
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
            "two buffers with the same name",
            "problem",
            graph("", &format!("{a},{a}"), ""),
            2,
            "both named a",
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
            "streams: the list has 1 entries, but must have 3",
        ),
        attack(
            "an unknown key",
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

/// A problem that would take the most time. It is too large to plan.
pub(super) fn of_size() -> Vec<Attack> {
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
            "4200000 edges, but the planner accepts at most 4194304",
        ),
        attack(
            "1,100,000 buffers",
            "minimalloc",
            format!("id,lower,upper,size\n{buffers}"),
            2,
            "1100000 buffers and gaps, but the planner accepts at most 1048576",
        ),
    ]
}
