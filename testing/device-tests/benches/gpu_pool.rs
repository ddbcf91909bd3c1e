//! The host time of a scope with 1, 3 or 16 temporaries, compared with one allocation and one free
//! per temporary. The allocations use the driver's stream-ordered calls, both directly and through
//! cudarc.
//!
//! This bench needs hardware, because times on the simulated driver have no meaning. The driver's
//! calls run under the best conditions: their memory pool keeps all its memory. `gpu_pool_peers.py`
//! in this directory runs the same sequences with PyTorch, CuPy and RMM.

#[path = "support/driver_pool.rs"]
mod driver_pool;
mod support;

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;

use criterion::{BenchmarkGroup, Criterion, measurement::WallTime};
use cudarc::driver::{CudaStream, DriverError, result};
use pool_core::Pool;
use pool_cuda::{Cuda, CudaError};

const ACQUIRES: [usize; 3] = [1, 3, 16];
const BYTES: [usize; 4] = [4 << 10, 256 << 10, 4 << 20, 64 << 20];

fn main() -> ExitCode {
    support::run(measure)
}

fn measure(criterion: &mut Criterion) -> Result<(), String> {
    let wrapped = |error: CudaError| error.to_string();
    let device = Cuda::device(0).map_err(wrapped)?;
    driver_pool::keep_all_memory(device.context().cu_device())
        .map_err(|error| error.to_string())?;
    for bytes in BYTES {
        for acquires in ACQUIRES {
            let name = format!("{acquires} of {} KiB", bytes >> 10);
            let mut group = criterion.benchmark_group(name);
            let mut pool = Pool::<Cuda>::new(device.new_stream().map_err(wrapped)?);
            scope(&mut group, &mut pool, acquires, bytes);
            let stream = device.context().new_stream().map_err(|error| error.to_string())?;
            raw(&mut group, &stream, acquires, bytes).map_err(|error| error.to_string())?;
            through_cudarc(&mut group, &stream, acquires, bytes)
                .map_err(|error| error.to_string())?;
            group.finish();
            pool.trim();
        }
    }
    Ok(())
}

fn scope(
    group: &mut BenchmarkGroup<'_, WallTime>,
    pool: &mut Pool<Cuda>,
    acquires: usize,
    bytes: usize,
) {
    group.bench_function("pool", |bencher| {
        bencher.iter(|| {
            let scope = pool.scope();
            for _ in 0..acquires {
                black_box(scope.acquire::<u8, _>(black_box(bytes)).address());
            }
        });
    });
}

fn raw(
    group: &mut BenchmarkGroup<'_, WallTime>,
    stream: &Arc<CudaStream>,
    acquires: usize,
    bytes: usize,
) -> Result<(), DriverError> {
    let mut addresses = Vec::with_capacity(acquires);
    let mut once = || -> Result<(), DriverError> {
        for _ in 0..acquires {
            // SAFETY: the allocations are freed below, and no work uses them.
            addresses.push(unsafe { result::malloc_async(stream.cu_stream(), bytes) }?);
        }
        for address in addresses.drain(..).rev() {
            // SAFETY: the address was allocated above on the same stream.
            unsafe { result::free_async(address, stream.cu_stream()) }?;
        }
        Ok(())
    };
    once()?;
    let mut last = Ok(());
    group.bench_function("cuMemAllocAsync and cuMemFreeAsync", |bencher| {
        bencher.iter(|| last = once());
    });
    last
}

fn through_cudarc(
    group: &mut BenchmarkGroup<'_, WallTime>,
    stream: &Arc<CudaStream>,
    acquires: usize,
    bytes: usize,
) -> Result<(), DriverError> {
    let mut slices = Vec::with_capacity(acquires);
    let mut once = || -> Result<(), DriverError> {
        for _ in 0..acquires {
            // SAFETY: the elements are never read.
            slices.push(unsafe { stream.alloc::<u8>(bytes) }?);
        }
        slices.clear();
        Ok(())
    };
    once()?;
    let mut last = Ok(());
    group.bench_function("cudarc", |bencher| bencher.iter(|| last = once()));
    last
}
