//! The host time of a step that passes a new input to a replay and reads its output. Variants:
//! consecutive steps with blocking `write` and `read`, and one, two or three steps in flight
//! through a `StagingPool`.
//!
//! Run with `cargo bench -p device-tests --bench graph_feeding`, only on hardware, because times on
//! the simulated driver have no meaning. The step is a device copy of the input's length, so the
//! time for passing the input and reading the output dominates.

mod support;

use std::hint::black_box;
use std::process::ExitCode;

use criterion::{BenchmarkGroup, Criterion, measurement::WallTime};
use pool_core::error_chain;
use pool_cuda::Cuda;
use pool_graph::{
    ArenaPolicy, CUDAGraphMemoryPool, Capture, CaptureError, CaptureSession, CapturedGraph,
    CudaArena, DeviceMemory, GraphMemoryBlock, GraphPoolConfig, ReadTicket, StagingConfig,
    StagingPool,
};

const BYTES: [usize; 3] = [4 << 10, 256 << 10, 4 << 20];
const IN_FLIGHT: [usize; 3] = [1, 2, 3];

fn main() -> ExitCode {
    support::run(|criterion| measure(criterion).map_err(|error| error_chain(&error).to_string()))
}

/// A graph that copies one block to another.
struct Fed {
    graph: CapturedGraph,
    input: GraphMemoryBlock,
    output: GraphMemoryBlock,
}

impl Fed {
    fn of(bytes: usize) -> Result<Self, CaptureError> {
        let device = Cuda::device(0)?;
        let memory = DeviceMemory::new(&device);
        let config = GraphPoolConfig { initial: 0, maximum: u64::MAX };
        let pool = CUDAGraphMemoryPool::with_config(memory.clone(), config);
        let (input, output) = (pool.allocate(bytes as u64)?, pool.allocate(bytes as u64)?);
        let session = CaptureSession::new(&device.context().new_stream()?)?;
        let session = session.lease(pool.lease(&[input.id(), output.id()])?);
        let body = |capture: &Capture<'_>, (): &mut ()| -> Result<(), CaptureError> {
            let from = capture.block::<u8>(&input)?;
            capture.copy(capture.main(), &mut capture.block(&output)?, &from)
        };
        let arena = CudaArena::new(memory, 256, ArenaPolicy::Monotone)?;
        let mut graph = session.prepare(arena)?.capture((), body)?;
        graph.upload()?;
        Ok(Self { graph, input, output })
    }

    fn one_by_one(&mut self, sample: &[u8], results: &mut [u8]) -> Result<(), CaptureError> {
        self.graph.write(&self.input, sample)?;
        self.graph.replay()?;
        self.graph.read(&self.output, results)
    }

    /// Reads the output of the oldest step in flight, and begins another step in its place.
    fn in_flight(
        &mut self,
        staging: &mut StagingPool,
        oldest: &mut Option<ReadTicket<u8>>,
        sample: &[u8],
        results: &mut [u8],
    ) -> Result<(), CaptureError> {
        if let Some(mut ticket) = oldest.take() {
            results.copy_from_slice(ticket.wait()?);
        }
        self.graph.enqueue_write(staging, &self.input, sample)?;
        self.graph.replay()?;
        *oldest = Some(self.graph.enqueue_read(staging, &self.output, results.len())?);
        Ok(())
    }
}

fn measure(criterion: &mut Criterion) -> Result<(), CaptureError> {
    for bytes in BYTES {
        let mut group = criterion.benchmark_group(format!("step of {} KiB", bytes >> 10));
        one_by_one(&mut group, bytes)?;
        for steps in IN_FLIGHT {
            in_flight(&mut group, bytes, steps)?;
        }
        group.finish();
    }
    Ok(())
}

fn one_by_one(group: &mut BenchmarkGroup<'_, WallTime>, bytes: usize) -> Result<(), CaptureError> {
    let mut fed = Fed::of(bytes)?;
    let (sample, mut results) = (vec![7; bytes], vec![0; bytes]);
    let mut ended = fed.one_by_one(&sample, &mut results);
    group.bench_function("write, replay, read", |bencher| {
        bencher.iter(|| ended = fed.one_by_one(black_box(&sample), &mut results));
    });
    ended
}

fn in_flight(
    group: &mut BenchmarkGroup<'_, WallTime>,
    bytes: usize,
    steps: usize,
) -> Result<(), CaptureError> {
    let mut fed = Fed::of(bytes)?;
    let (sample, mut results) = (vec![7; bytes], vec![0; bytes]);
    let config = StagingConfig { buffers: 2 * steps, bytes };
    let mut staging = StagingPool::with_config(fed.graph.stream().context(), config)?;
    let mut tickets: Vec<Option<ReadTicket<u8>>> = (0..steps).map(|_| None).collect();
    let (mut ended, mut next) = (Ok(()), 0);
    group.bench_function(format!("{steps} in flight"), |bencher| {
        bencher.iter(|| {
            let oldest = &mut tickets[next];
            ended = fed.in_flight(&mut staging, oldest, black_box(&sample), &mut results);
            next = (next + 1) % steps;
        });
    });
    ended
}
