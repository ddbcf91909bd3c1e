//! Two programs that keep their maps, strings, boxes and vectors in a scope, compared with other
//! allocators. This binary measures the time of a pass, the bytes held after a pass, and the
//! requests to the heap.
//!
//! `cargo run --release -p pool-benches --bin collections`. The allocator counts requests, which
//! makes the heap's row slightly slower. `cargo xtask bench` counts instructions with an allocator
//! that does not count.

use std::process::ExitCode;
use std::time::Instant;

use allocator_api2::alloc::Global;
use pool_benches::case::{Case, Work};
use pool_benches::harness::heap::{Counting, count};
use pool_benches::workloads::cases;
use pool_benches::workloads::collections::{AllocatorMemory, OnMemory, Parse, Program, WordCount};
use pool_facade::Stacked;
use pool_facade::prelude::*;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The number of passes that are timed together.
const BATCH: u64 = 20;

fn main() -> ExitCode {
    let cases = cases();
    let mut all_quiet = true;
    for (variant, held) in [
        ("a word count: a map, strings", held_by::<WordCount>()),
        ("a parser: boxes, vectors, strings", held_by::<Parse>()),
    ] {
        println!(
            "{variant}\n  {:12} {:>12} {:>12} {:>12}",
            "", "µs per pass", "bytes held", "allocations"
        );
        for case in cases.iter().filter(|case| case.variant == variant) {
            let bytes = held.iter().find(|(column, _)| *column == case.column);
            let bytes = bytes.and_then(|(_, bytes)| *bytes);
            let bytes = bytes.map_or_else(|| "–".to_owned(), |bytes| bytes.to_string());
            let allocations = count(&[*case])[0].count;
            all_quiet &= allocations == 0.0 || !case.column.starts_with("pool");
            println!("  {:12} {:12.1} {bytes:>12} {allocations:12.1}", case.column, time(case));
        }
    }
    if all_quiet { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns the time of one pass in microseconds: the median of the batches.
fn time(case: &Case) -> f64 {
    let mut prepared = (case.prepare)();
    let mut times: Vec<f64> = (0..31)
        .map(|_| {
            let start = Instant::now();
            prepared(BATCH);
            start.elapsed().as_secs_f64() * 1e6 / BATCH as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Returns the bytes that each kind of memory holds after some passes.
fn held_by<P: Program>() -> [(&'static str, Option<usize>); 5] {
    fn after<M: AllocatorMemory, P: Program>() -> Option<usize> {
        let mut work = OnMemory::<M, P>::new();
        (0..8).for_each(|_| work.run(100, 100, 100));
        work.held()
    }
    [
        ("pool, slots", after::<Pool<Cpu>, P>()),
        ("pool, stack", after::<Pool<Stacked<Cpu>>, P>()),
        ("bump-scope", after::<bump_scope::Bump, P>()),
        ("bumpalo", after::<bumpalo::Bump, P>()),
        ("heap", after::<Global, P>()),
    ]
}
