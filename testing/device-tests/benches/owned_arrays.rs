//! The memory of owned arrays of many lengths, and the time to acquire and drop one, compared with
//! the driver's stream-ordered allocator. `owned_arrays_peers.py` in this directory runs the same
//! programs with PyTorch and CuPy, from a file written by this bench.
//!
//! Run with `cargo bench -p device-tests --bench owned_arrays`. It needs hardware. Nothing is
//! launched, so the times are host times. The driver's memory pool keeps all its memory. The bytes
//! are those of the first repetition of each program.

#[path = "support/driver_pool.rs"]
mod driver_pool;
mod support;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use comfy_table::{CellAlignment, Table, presets};
use criterion::{Criterion, Throughput};
use cudarc::driver::{CudaStream, DriverError, result, sys};
use pool_core::{Owned, PoolConfig, SharedPool};
use pool_cuda::{Cuda, CudaDevice};
use serde::Serialize;

const KIB: usize = 1 << 10;

type AnyError = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    support::run(|criterion| measure(criterion).map_err(|error| error.to_string()))
}

fn measure(criterion: &mut Criterion) -> Result<(), AnyError> {
    let device = Cuda::device(0)?;
    let programs =
        [Program::repeated(), Program::of_requests(1), Program::of_requests(2), Program::random(3)];
    write(&programs)?;
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(["program", "allocator", "live peak", "held", "held per live byte"]);
    for program in &programs {
        let live = program.live_peak();
        for (allocator, held) in [
            ("SharedPool", program.in_shared_pool(false, &device, criterion)?),
            ("SharedPool, fresh", program.in_shared_pool(true, &device, criterion)?),
            ("cuMemAllocAsync", program.in_driver_pool(&device, criterion)?),
        ] {
            let ratio = format!("{:.3}", held as f64 / live as f64);
            let (live, held) = (live.to_string(), held.to_string());
            table.add_row([program.name.clone(), allocator.to_owned(), live, held, ratio]);
        }
    }
    table.column_iter_mut().skip(2).for_each(|c| c.set_cell_alignment(CellAlignment::Right));
    println!("{table}");
    Ok(())
}

/// Writes the programs where the peers find them.
fn write(programs: &[Program]) -> Result<(), AnyError> {
    let Some(folder) = std::env::var_os("POOL_BENCH_OUT").map(PathBuf::from) else {
        println!("POOL_BENCH_OUT is not set: the programs are not written");
        return Ok(());
    };
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("owned_arrays_programs.json");
    std::fs::write(&file, serde_json::to_string(programs)?)?;
    println!("{}", file.display());
    Ok(())
}

/// One step of a program.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum Step {
    /// Acquires an array of this number of bytes.
    Take(usize),
    /// Drops an array. The number is its position in the order of acquisition.
    Drop(usize),
    /// Waits until the stream's work has completed.
    Wait,
}

/// A sequence of steps that drops every array.
#[derive(Serialize)]
struct Program {
    name: String,
    steps: Vec<Step>,
}

impl Program {
    /// 1,000 passes with the same 24 arrays of 8 KiB to 16 MiB. At most three of them are live at
    /// the same time.
    fn repeated() -> Self {
        let (mut steps, mut taken) = (Vec::new(), 0);
        for _ in 0..1000 {
            for number in 0..24_usize {
                steps.push(Step::Take(((8 * KIB) << (number % 12)) + number * 4 * KIB));
                if number >= 2 {
                    steps.push(Step::Drop(taken - 2));
                }
                taken += 1;
            }
            steps.extend([Step::Drop(taken - 2), Step::Drop(taken - 1), Step::Wait]);
        }
        Self { name: "repeated".to_owned(), steps }
    }

    /// 400 requests of 16 to 2,048 tokens. Each request keeps its caches while the next 8 requests
    /// run, drops its other arrays two layers later, and waits for the stream at its end.
    fn of_requests(seed: u64) -> Self {
        const LAYERS: usize = 12;
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut steps, mut taken) = (Vec::new(), 0);
        let mut caches: Vec<Vec<usize>> = Vec::new();
        for _ in 0..400 {
            let tokens = random.usize(16..=2048);
            let (mut kept, mut temporaries) = (Vec::new(), Vec::new());
            let mut take = |steps: &mut Vec<Step>, bytes: usize| {
                steps.push(Step::Take(bytes));
                taken += 1;
                taken - 1
            };
            for layer in 0..LAYERS {
                kept.push(take(&mut steps, tokens * 2 * KIB));
                let sizes = [6 * KIB, 24 * tokens, 2 * KIB, 8 * KIB];
                temporaries.push(sizes.map(|bytes| take(&mut steps, tokens * bytes)));
                if layer >= 2 {
                    steps.extend(temporaries.remove(0).map(Step::Drop));
                }
            }
            steps.extend(temporaries.into_iter().flatten().map(Step::Drop));
            steps.push(Step::Wait);
            caches.push(kept);
            if caches.len() > 8 {
                steps.extend(caches.remove(0).into_iter().map(Step::Drop));
            }
        }
        steps.extend(caches.into_iter().flatten().map(Step::Drop));
        Self { name: format!("requests {seed}"), steps }
    }

    /// 50,000 arrays of 4 KiB to 16 MiB. At most 200 of them are live at the same time.
    fn random(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut steps, mut live) = (Vec::new(), Vec::new());
        for number in 0..50_000 {
            if live.len() == 200 || (!live.is_empty() && random.u8(..) < 100) {
                steps.push(Step::Drop(live.swap_remove(random.usize(..live.len()))));
            }
            let least = 1 << random.u8(12..24);
            steps.push(Step::Take(random.usize(least..2 * least)));
            live.push(number);
        }
        steps.extend(live.into_iter().map(Step::Drop));
        Self { name: format!("random {seed}"), steps }
    }

    fn live_peak(&self) -> usize {
        let (mut sizes, mut live, mut peak) = (Vec::new(), 0, 0);
        for step in &self.steps {
            match *step {
                Step::Take(bytes) => {
                    sizes.push(bytes);
                    live += bytes;
                }
                Step::Drop(number) => live -= sizes[number],
                Step::Wait => {}
            }
            peak = peak.max(live);
        }
        peak
    }

    /// Runs the steps once. `take` acquires an array, and `drop` drops it.
    fn run<A>(
        &self,
        stream: &CudaStream,
        mut take: impl FnMut(usize) -> Result<A, AnyError>,
        drop: impl Fn(A) -> Result<(), AnyError>,
    ) -> Result<(), AnyError> {
        let mut arrays = Vec::with_capacity(self.arrays());
        for step in &self.steps {
            match *step {
                Step::Take(bytes) => arrays.push(Some(take(bytes)?)),
                Step::Drop(number) => arrays[number].take().map_or(Ok(()), &drop)?,
                Step::Wait => stream.synchronize()?,
            }
        }
        Ok(())
    }

    fn arrays(&self) -> usize {
        self.steps.iter().filter(|step| matches!(step, Step::Take(_))).count()
    }

    /// Measures the time of a repetition. The error is that of the last repetition.
    fn time(
        &self,
        criterion: &mut Criterion,
        allocator: &str,
        mut once: impl FnMut() -> Result<(), AnyError>,
    ) -> Result<(), AnyError> {
        let mut last = Ok(());
        let mut group = criterion.benchmark_group(&self.name);
        group.throughput(Throughput::Elements(self.arrays() as u64));
        group.bench_function(allocator, |bencher| bencher.iter(|| last = once()));
        group.finish();
        last
    }

    /// Returns the peak of the device memory that the pool has reserved, in bytes. If `fresh` is
    /// `true`, the pool keeps no idle blocks.
    fn in_shared_pool(
        &self,
        fresh: bool,
        device: &CudaDevice,
        criterion: &mut Criterion,
    ) -> Result<usize, AnyError> {
        let before = device.memory()?.free;
        let context = device.new_stream()?;
        let stream = Arc::clone(context.stream());
        let pool = SharedPool::<Cuda>::with_config(context, PoolConfig::new().fresh(fresh))?;
        let drop = |array: Owned<Cuda, u8>| {
            drop(array);
            Ok(())
        };
        let (mut growths, mut least) = (0, before);
        let take = |bytes| {
            let array = pool.try_take::<u8>(bytes)?;
            if pool.stats().growths > growths {
                growths = pool.stats().growths;
                least = least.min(device.memory()?.free);
            }
            Ok(array)
        };
        self.run(&stream, take, drop)?;
        let name = if fresh { "SharedPool, fresh" } else { "SharedPool" };
        self.time(criterion, name, || {
            self.run(&stream, |bytes| Ok(pool.try_take::<u8>(bytes)?), drop)
        })?;
        pool.trim();
        Ok(before - least)
    }

    /// Returns the peak of the device memory that the driver's pool has reserved, in bytes.
    fn in_driver_pool(
        &self,
        device: &CudaDevice,
        criterion: &mut Criterion,
    ) -> Result<usize, AnyError> {
        let stream = device.context().new_stream()?;
        let driver_pool = DefaultPool::keeping_all_memory(device.context().cu_device())?;
        let once = || {
            self.run(
                &stream,
                // SAFETY: the memory is freed below, on the same stream, and never used.
                |bytes| Ok(unsafe { result::malloc_async(stream.cu_stream(), bytes) }?),
                // SAFETY: the address was allocated above and is freed once.
                |address| Ok(unsafe { result::free_async(address, stream.cu_stream()) }?),
            )
        };
        once()?;
        let held = driver_pool.most_reserved()?;
        self.time(criterion, "cuMemAllocAsync", once)?;
        stream.synchronize()?;
        driver_pool.empty()?;
        Ok(held)
    }
}

/// The memory pool of `cuMemAllocAsync`.
struct DefaultPool(sys::CUmemoryPool);

impl DefaultPool {
    const MOST_RESERVED: sys::CUmemPool_attribute =
        sys::CUmemPool_attribute_enum::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH;

    /// Makes the pool keep all its memory, and resets the peak of what it has reserved.
    fn keeping_all_memory(device: sys::CUdevice) -> Result<Self, DriverError> {
        let (pool, mut value) = (driver_pool::keep_all_memory(device)?, 0_u64);
        let value = (&raw mut value).cast();
        // SAFETY: the default pool always exists, and the attribute is 64 bits long.
        unsafe { result::mem_pool::set_attribute(pool, Self::MOST_RESERVED, value) }?;
        Ok(Self(pool))
    }

    /// The peak of the reserved bytes.
    fn most_reserved(&self) -> Result<usize, DriverError> {
        let mut bytes = 0_u64;
        let value = (&raw mut bytes).cast();
        // SAFETY: the default pool always exists, and the attribute is 64 bits long.
        unsafe { result::mem_pool::get_attribute(self.0, Self::MOST_RESERVED, value) }?;
        Ok(usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    fn empty(&self) -> Result<(), DriverError> {
        // SAFETY: the default pool always exists.
        unsafe { result::mem_pool::trim_to(self.0, 0) }
    }
}
