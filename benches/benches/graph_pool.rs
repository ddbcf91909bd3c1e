//! The thread-safe pool of graph memory beside a lock around a best-fit map, on addresses alone. It
//! measures throughput, and the time of one call under contention.
//!
//! `cargo bench -p pool-benches --bench graph_pool -- [--operations 200000] [--repeat 7]`. Each
//! thread keeps 64 blocks of 256 bytes to 1 MiB, spread evenly over the powers of two. In each step
//! it returns one of them, drawn at random, and allocates another. Memory is taken in advance, so
//! that only the pool is measured. Throughput counts steps of all threads together: medians of the
//! repetitions, whose order changes from one to the next. Latencies are of single calls, measured
//! one by one in further runs; they include the clock's own time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::cast_precision_loss,
    reason = "a failing benchmark panics, and people read its numbers"
)]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use clap::Parser;
use comfy_table::{CellAlignment, Table, presets};
use pool_graph::{BlockId, CUDAGraphMemoryPool, GraphPoolConfig, SyntheticMemory};

/// The number of blocks that each thread keeps.
const KEPT: usize = 64;
const THREADS: [usize; 4] = [1, 2, 4, 16];
/// More than all threads together ever keep.
const MEMORY: u64 = 2 << 30;
const PERCENTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

#[derive(Debug, Parser)]
struct Arguments {
    /// Steps of each run, over all threads.
    #[arg(long, default_value_t = 200_000)]
    operations: usize,
    /// Runs of each kind.
    #[arg(long, default_value_t = 7)]
    repeat: usize,
    /// Given by `cargo bench`. Without it, as among the tests, each kind runs once and shortly.
    #[arg(long, hide = true)]
    bench: bool,
}

/// An allocator under test, which allocates and frees blocks from any thread.
trait Contender: Sync {
    type Block: Copy + Send;
    fn allocate(&self, bytes: u64) -> Self::Block;
    fn give(&self, block: Self::Block);
}

impl Contender for CUDAGraphMemoryPool<SyntheticMemory> {
    type Block = BlockId;

    fn allocate(&self, bytes: u64) -> BlockId {
        Self::allocate(self, bytes).unwrap().id()
    }

    fn give(&self, block: BlockId) {
        self.deallocate(block).unwrap();
    }
}

/// The naive allocator: free ranges by size and by address, and the taken ones.
#[derive(Default)]
struct BestFitMap {
    by_size: BTreeSet<(u64, u64)>,
    by_address: BTreeMap<u64, u64>,
    taken: HashMap<u64, u64>,
}

impl BestFitMap {
    fn with(bytes: u64) -> Self {
        let mut map = Self::default();
        map.offer(1 << 40, bytes);
        map
    }

    fn allocate(&mut self, bytes: u64) -> u64 {
        let bytes = bytes.next_multiple_of(256);
        let (size, address) = *self.by_size.range((bytes, 0)..).next().expect("there is enough");
        self.withdraw(address, size);
        if size > bytes {
            self.offer(address + bytes, size - bytes);
        }
        self.taken.insert(address, bytes);
        address
    }

    fn give(&mut self, address: u64) {
        let mut bytes = self.taken.remove(&address).expect("it was taken");
        let mut start = address;
        if let Some(&after) = self.by_address.get(&(address + bytes)) {
            self.withdraw(address + bytes, after);
            bytes += after;
        }
        let before = self.by_address.range(..address).next_back().map(|(&at, &size)| (at, size));
        if let Some((at, size)) = before.filter(|(at, size)| at + size == address) {
            self.withdraw(at, size);
            (start, bytes) = (at, bytes + size);
        }
        self.offer(start, bytes);
    }

    fn offer(&mut self, address: u64, bytes: u64) {
        self.by_size.insert((bytes, address));
        self.by_address.insert(address, bytes);
    }

    fn withdraw(&mut self, address: u64, bytes: u64) {
        self.by_size.remove(&(bytes, address));
        self.by_address.remove(&address);
    }
}

impl Contender for std::sync::Mutex<BestFitMap> {
    type Block = u64;

    fn allocate(&self, bytes: u64) -> u64 {
        self.lock().unwrap().allocate(bytes)
    }

    fn give(&self, block: u64) {
        self.lock().unwrap().give(block);
    }
}

impl Contender for parking_lot::Mutex<BestFitMap> {
    type Block = u64;

    fn allocate(&self, bytes: u64) -> u64 {
        self.lock().allocate(bytes)
    }

    fn give(&self, block: u64) {
        self.lock().give(block);
    }
}

/// Returns the steps of a thread, drawn in advance: the block that is returned, and the size of the
/// next.
fn script(thread: usize, steps: usize) -> Vec<(usize, u64)> {
    let mut random = fastrand::Rng::with_seed(thread as u64);
    let mut size = || {
        let power = random.u32(8..20);
        let rest = random.u64(0..1 << power);
        (random.usize(0..KEPT), (1 << power) + rest)
    };
    (0..KEPT + steps).map(|_| size()).collect()
}

/// Runs the threads; with `timed`, also returns the time of each call. Time runs from the first
/// step of the first thread to the last step of the last, by the threads' own clocks.
fn run<C: Contender>(contender: &C, threads: usize, steps: usize, timed: bool) -> Outcome {
    let barrier = Barrier::new(threads);
    let work = |thread| {
        let script = script(thread, steps);
        let mut kept: Vec<C::Block> =
            script[..KEPT].iter().map(|&(_, bytes)| contender.allocate(bytes)).collect();
        let mut latencies = Vec::with_capacity(if timed { 2 * steps } else { 0 });
        barrier.wait();
        let begin = Instant::now();
        for &(place, bytes) in &script[KEPT..] {
            if timed {
                let start = Instant::now();
                contender.give(kept[place]);
                let middle = Instant::now();
                kept[place] = contender.allocate(bytes);
                latencies.extend([middle - start, middle.elapsed()]);
            } else {
                contender.give(kept[place]);
                kept[place] = contender.allocate(bytes);
            }
        }
        let end = Instant::now();
        kept.into_iter().for_each(|block| contender.give(block));
        (begin, end, latencies)
    };
    std::thread::scope(|scope| {
        let work = &work;
        let running: Vec<_> =
            (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
        let done: Vec<_> = running.into_iter().map(|thread| thread.join().unwrap()).collect();
        let begin = done.iter().map(|(begin, ..)| *begin).min().unwrap();
        let end = done.iter().map(|(_, end, _)| *end).max().unwrap();
        let latencies = done.into_iter().flat_map(|(.., latencies)| latencies).collect();
        Outcome { time: end - begin, latencies }
    })
}

struct Outcome {
    time: Duration,
    latencies: Vec<Duration>,
}

/// One kind of contender, created again for each run.
struct Kind {
    name: &'static str,
    run: fn(threads: usize, steps: usize, timed: bool) -> Outcome,
}

const KINDS: [Kind; 3] = [
    Kind { name: "CUDAGraphMemoryPool", run: pool },
    Kind { name: "std Mutex, map", run: std_map },
    Kind { name: "parking_lot Mutex, map", run: parking_lot_map },
];

fn pool(threads: usize, steps: usize, timed: bool) -> Outcome {
    let config = GraphPoolConfig { initial: MEMORY, maximum: MEMORY };
    let pool = CUDAGraphMemoryPool::with_config(SyntheticMemory::new(), config);
    let outcome = run(&pool, threads, steps, timed);
    assert_eq!((pool.stats().growths, pool.stats().allocated_blocks), (0, 0));
    outcome
}

fn std_map(threads: usize, steps: usize, timed: bool) -> Outcome {
    run(&std::sync::Mutex::new(BestFitMap::with(MEMORY)), threads, steps, timed)
}

fn parking_lot_map(threads: usize, steps: usize, timed: bool) -> Outcome {
    run(&parking_lot::Mutex::new(BestFitMap::with(MEMORY)), threads, steps, timed)
}

fn main() {
    let mut arguments = Arguments::parse();
    if !arguments.bench {
        (arguments.operations, arguments.repeat) = (2_000, 1);
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("{cores} cores, {} steps per run, {} runs", arguments.operations, arguments.repeat);
    println!("\n{}", throughput(&arguments));
    println!("\n{}", latencies(&arguments));
}

/// Measures millions of steps a second, also as a multiple of the map's.
fn throughput(arguments: &Arguments) -> Table {
    let mut table = table(&["threads", "", "M steps/s", "lowest", "highest", "beside std map"]);
    for threads in THREADS {
        let steps = arguments.operations / threads;
        let mut rates = [const { Vec::new() }; KINDS.len()];
        for repetition in 0..arguments.repeat.max(1) {
            for turn in 0..KINDS.len() {
                let kind = (turn + repetition) % KINDS.len();
                let time = (KINDS[kind].run)(threads, steps, false).time;
                rates[kind].push((steps * threads) as f64 / time.as_secs_f64() / 1e6);
            }
        }
        let rates = rates.map(|mut rates: Vec<f64>| {
            rates.sort_by(f64::total_cmp);
            rates
        });
        let median = |rates: &Vec<f64>| rates[rates.len() / 2];
        for (kind, own) in KINDS.iter().zip(&rates) {
            let ratio = median(own) / median(&rates[1]);
            let numbers =
                [median(own), own[0], own[own.len() - 1]].map(|rate| format!("{rate:.2}"));
            let mut row = vec![threads.to_string(), kind.name.to_owned()];
            row.extend(numbers);
            row.push(format!("{ratio:.2}×"));
            table.add_row(row);
        }
    }
    table
}

/// Percentiles over the calls of all repetitions.
fn latencies(arguments: &Arguments) -> Table {
    let names = PERCENTILES.map(|(name, _)| format!("{name}, ns"));
    let mut headers = vec!["threads", ""];
    headers.extend(names.iter().map(String::as_str));
    headers.push("longest, ns");
    let mut table = table(&headers);
    for threads in THREADS {
        let steps = arguments.operations / threads;
        let mut calls = [const { Vec::new() }; KINDS.len()];
        for _ in 0..arguments.repeat.max(1) {
            for (kind, calls) in KINDS.iter().zip(&mut calls) {
                calls.extend((kind.run)(threads, steps, true).latencies);
            }
        }
        for (kind, mut calls) in KINDS.iter().zip(calls) {
            calls.sort_unstable();
            let mut row = vec![threads.to_string(), kind.name.to_owned()];
            row.extend(PERCENTILES.map(|(_, share)| at(&calls, share).as_nanos().to_string()));
            row.push(at(&calls, 1.0).as_nanos().to_string());
            table.add_row(row);
        }
    }
    table
}

/// Returns the maximum time of this share of the calls.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a length")]
fn at(sorted: &[Duration], share: f64) -> Duration {
    let place = (sorted.len() as f64 * share) as usize;
    sorted[place.min(sorted.len() - 1)]
}

fn table(headers: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(headers.iter().copied());
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
