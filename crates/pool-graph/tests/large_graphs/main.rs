//! The verifier on large graphs of several shapes: its memory grows with nodes and edges, and it
//! finishes in seconds. `POOL_VERIFIED_NODES` sets the number of nodes; in a release build with
//! 200,000, each takes at most 5 seconds of a processor.
//!
//! It is alone in its binary, because it measures the memory of the process.

#![cfg(not(loom))]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_possible_truncation,
    reason = "tests: a check that fails panics, and their numbers are small"
)]

mod shapes;

use std::time::{Duration, Instant};

use pool_graph::verify_layout;

use shapes::{Shape, all};

/// The bytes of the process for each node, including the graph and the layout: 500 MB for 200,000.
const BYTES_PER_NODE: u64 = 2_500;
/// The bytes of an idle process.
const BYTES_AT_REST: u64 = 16 << 20;

fn nodes() -> usize {
    let given = std::env::var("POOL_VERIFIED_NODES");
    given.map_or(50_000, |text| text.parse().expect("POOL_VERIFIED_NODES must be a number"))
}

/// Returns the peak of the process's bytes since its last reset, on Linux.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? * 1024)
}

/// Resets the peak. If this is not allowed, the peak is that of all shapes so far, which is
/// stricter.
fn forget_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Returns the running time of this thread, or else the time since `start`.
fn time_since(start: Instant) -> Duration {
    let ran = || {
        let counts = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        counts.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
    };
    ran().unwrap_or_else(|| start.elapsed())
}

/// Returns the cost of a shape: seconds, and the peak of the process's bytes.
fn check(shape: &Shape) -> (Duration, Option<u64>) {
    let Shape { name, graph, layout, accesses, needed } = shape;
    forget_peak();
    let start = Instant::now();
    let before = time_since(start);
    let verified = verify_layout(graph, layout, accesses);
    let passed = time_since(start) - before;
    let verified = verified.unwrap_or_else(|violation| panic!("{name}: {violation}"));
    assert!(verified.sharing > 0 && verified.accesses >= graph.nodes, "{name}: {verified:?}");
    let mut without = graph.clone();
    without.edges.swap_remove(*needed);
    let before = time_since(start);
    assert!(verify_layout(&without, layout, accesses).is_err(), "{name} without an edge");
    (passed.max(time_since(start) - before), peak())
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: arithmetic without unsafe code")]
fn memory_grows_with_nodes_and_edges() {
    let nodes = nodes();
    let allowed = BYTES_AT_REST + BYTES_PER_NODE * nodes as u64;
    println!(
        "{:32} {:>8} {:>8} {:>8} {:>8} {:>7} {:>7}",
        "", "nodes", "edges", "regions", "accesses", "ms", "MB"
    );
    for make in all(nodes) {
        let shape = make(nodes);
        let (passed, peak) = check(&shape);
        let Shape { name, graph, layout, accesses, .. } = &shape;
        let (edges, regions, accesses) = (graph.edges.len(), layout.len(), accesses.len());
        let (ms, megabytes) = (passed.as_millis(), peak.map(|bytes| bytes / 1_000_000));
        let megabytes = megabytes.map_or_else(|| "?".to_owned(), |number| number.to_string());
        println!(
            "{name:32} {:8} {edges:8} {regions:8} {accesses:8} {ms:7} {megabytes:>7}",
            graph.nodes
        );
        match peak {
            Some(bytes) => assert!(bytes <= allowed, "{name}: {bytes} of {allowed} bytes"),
            None => println!("SKIPPED: the system does not report the peak memory of a process"),
        }
        if cfg!(not(debug_assertions)) && nodes <= 200_000 {
            assert!(passed <= Duration::from_secs(5), "{name}: {passed:?}");
        }
    }
}
