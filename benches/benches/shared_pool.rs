//! Owned arrays of a shared pool beside a lock around a list of buffers, as in inference engines,
//! and beside the system's allocator. It measures throughput, the time of one pair of calls, and
//! bytes held for each live byte.
//!
//! `cargo bench -p pool-benches --bench shared_pool -- [--operations 1000000] [--repeat 5]`. Each thread takes an array of
//! 1 to 16 KiB and drops it. Throughput counts pairs of all threads together; medians of the repetitions. Latencies are of
//! single pairs, measured one by one in a run of their own: the clock's own time is in them.
//!
//! `LockedList` does what `BufferPool` of rten 0.27 does for each array: a mutex around a list, searched for the best fit,
//! and two counters.

#![allow(
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    clippy::print_stdout,
    reason = "a failing benchmark panics, and people read its numbers"
)]

use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::time::Instant;

use clap::Parser;
use comfy_table::{CellAlignment, Table, presets};
use pool_facade::{Cpu, SharedPool};

const THREADS: [usize; 4] = [1, 2, 4, 16];
/// Elements of the arrays, in turn.
const LENGTHS: [usize; 4] = [1000, 3000, 250, 4000];

#[derive(Debug, Parser)]
struct Arguments {
    /// Pairs of each thread.
    #[arg(long, default_value_t = 1_000_000)]
    operations: usize,
    /// Runs of each kind.
    #[arg(long, default_value_t = 5)]
    repeat: usize,
    /// Given by `cargo bench`. Without it, as among the tests, each kind runs once and shortly.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Takes an array, touches it, and drops it: the timed step.
trait Contender: Sync {
    const NAME: &'static str;
    fn pair(&self, length: usize);
}

impl Contender for SharedPool<Cpu> {
    const NAME: &'static str = "SharedPool";

    #[inline]
    fn pair(&self, length: usize) {
        let mut array = self.take::<f32>(length);
        array[0] = 1.0;
        black_box(&mut array[..]);
    }
}

/// A mutex around a list of buffers.
#[derive(Default)]
struct LockedList {
    buffers: Mutex<Vec<Vec<f32>>>,
    allocations: AtomicUsize,
    hits: AtomicUsize,
}

impl Contender for LockedList {
    const NAME: &'static str = "a mutex around a list";

    #[inline]
    fn pair(&self, length: usize) {
        self.allocations.fetch_add(1, Ordering::AcqRel);
        let mut buffers = self.buffers.lock().unwrap();
        let fitting = buffers.iter().enumerate().filter(|(_, buffer)| buffer.capacity() >= length);
        let best = fitting.min_by_key(|(_, buffer)| buffer.capacity()).map(|(index, _)| index);
        let found = best.map(|best| buffers.remove(best));
        drop(buffers);
        let mut buffer = match found {
            Some(buffer) => {
                self.hits.fetch_add(1, Ordering::AcqRel);
                buffer
            }
            None => Vec::with_capacity(length),
        };
        black_box(buffer.as_mut_ptr());
        self.buffers.lock().unwrap().push(buffer);
    }
}

/// The system's allocator.
struct System;

impl Contender for System {
    const NAME: &'static str = "Vec::with_capacity";

    #[inline]
    fn pair(&self, length: usize) {
        black_box(Vec::<f32>::with_capacity(length).as_mut_ptr());
    }
}

/// Millions of pairs a second.
fn throughput<C: Contender>(contender: &C, threads: usize, operations: usize) -> f64 {
    let barrier = Barrier::new(threads + 1);
    let seconds = std::thread::scope(|scope| {
        let workers = (0..threads).map(|number| {
            let barrier = &barrier;
            scope.spawn(move || {
                barrier.wait();
                for step in 0..operations {
                    contender.pair(LENGTHS[(step + number) % LENGTHS.len()]);
                }
            })
        });
        let workers: Vec<_> = workers.collect();
        barrier.wait();
        let start = Instant::now();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        start.elapsed().as_secs_f64()
    });
    (operations * threads) as f64 / seconds / 1e6
}

/// The 50th, 99th and 99.9th percentile of a pair, in nanoseconds.
fn latencies<C: Contender>(contender: &C, threads: usize, operations: usize) -> [u128; 3] {
    let all = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for number in 0..threads {
            let all = &all;
            scope.spawn(move || {
                let mut times = Vec::with_capacity(operations);
                for step in 0..operations {
                    let start = Instant::now();
                    contender.pair(LENGTHS[(step + number) % LENGTHS.len()]);
                    times.push(start.elapsed().as_nanos());
                }
                all.lock().unwrap().extend(times);
            });
        }
    });
    let mut all = all.into_inner().unwrap();
    all.sort_unstable();
    [500, 990, 999].map(|permille| all[(all.len() - 1) * permille / 1000])
}

fn rows<C: Contender>(table: &mut Table, new: impl Fn() -> C, arguments: &Arguments) {
    let cells = THREADS.iter().flat_map(|&threads| {
        let contender = new();
        let runs =
            (0..arguments.repeat).map(|_| throughput(&contender, threads, arguments.operations));
        let mut runs: Vec<f64> = runs.collect();
        runs.sort_unstable_by(f64::total_cmp);
        let [p50, p99, p999] = latencies(&contender, threads, arguments.operations / 4);
        [format!("{:.1}", runs[runs.len() / 2]), format!("{p50} / {p99} / {p999}")]
    });
    table.add_row([C::NAME.to_owned()].into_iter().chain(cells));
}

/// Bytes that a shared pool holds for each byte of the live peak, while threads keep arrays and pass them on.
fn held_per_live(threads: usize, rounds: usize) -> f64 {
    let pool = SharedPool::<Cpu>::default();
    let passed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for number in 0..threads {
            let (pool, passed) = (&pool, &passed);
            scope.spawn(move || {
                for round in 0..rounds {
                    let length = 100_000 + (round * 7919 + number * 104_729) % 400_000;
                    let array = pool.take::<u8>(length);
                    let mut passed = passed.lock().unwrap();
                    passed.push(array);
                    let last =
                        if passed.len() > 200 { passed.swap_remove(round % 100) } else { continue };
                    drop((passed, last));
                }
            });
        }
    });
    let stats = pool.stats();
    stats.peak_reserved_bytes as f64 / stats.peak_live_bytes.unwrap() as f64
}

fn main() {
    let mut arguments = Arguments::parse();
    if !arguments.bench {
        arguments = Arguments { operations: 1000, repeat: 1, ..arguments };
    }
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    let heads = THREADS.iter().flat_map(|threads| {
        [format!("{threads}: million pairs/s"), format!("{threads}: p50 / p99 / p99.9 ns")]
    });
    table.set_header(["threads".to_owned()].into_iter().chain(heads));
    rows(&mut table, SharedPool::<Cpu>::default, &arguments);
    rows(&mut table, LockedList::default, &arguments);
    rows(&mut table, || System, &arguments);
    table.column_iter_mut().skip(1).for_each(|column| {
        column.set_cell_alignment(CellAlignment::Right);
    });
    println!("{table}");
    let ratio = held_per_live(16, arguments.operations / 500);
    println!("peak held / peak live bytes with 16 threads that pass arrays on: {ratio:.3}");
}
