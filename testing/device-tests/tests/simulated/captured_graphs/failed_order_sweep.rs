//! Runs the [sweep](crate::sweep) over graphs and over tame random bodies. The graphs are fed and
//! read with and without waiting, are updated, pass blocks to graphs on another stream, and run
//! together with eager pools.

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Arc;

use cudarc::driver::CudaStream;
use fastrand::Rng;
use pool_core::{Pool, PoolView, PoolViewMut};
use pool_cuda::{Cuda, CudaDevice};
use pool_graph::{
    ArenaPolicy, CUDAGraphMemoryPool, Capture, CaptureError, CaptureSession, CapturedGraph,
    CudaArena, DeviceMemory, GraphMemoryBlock, GraphPoolConfig, ReadTicket, StagingConfig,
    StagingPool,
};

use crate::support::start;
use crate::sweep::{Programs, sweep};
use crate::wild;

const N: usize = 256;
const BYTES: u64 = 4 * N as u64;

/// The contents of a block; `None` after a failed write.
type Holds = Option<u32>;

struct World {
    device: CudaDevice,
    pool: CUDAGraphMemoryPool,
    streams: [Arc<CudaStream>; 3],
}

/// A graph that copies its input to its output over a branch, with the contents of its blocks.
struct Copier {
    graph: CapturedGraph<u8>,
    blocks: [GraphMemoryBlock; 2],
    input: Holds,
    output: Holds,
}

impl World {
    fn new() -> Self {
        let device = Cuda::device(0).unwrap();
        let config = GraphPoolConfig { initial: 0, maximum: 1 << 24 };
        let pool = CUDAGraphMemoryPool::with_config(DeviceMemory::new(&device), config);
        let streams = [(); 3].map(|()| device.context().new_stream().unwrap());
        Self { device, pool, streams }
    }

    /// Creates a graph on one of the first two streams, with the last stream as its branch.
    fn copier(&self, on: usize, blocks: [GraphMemoryBlock; 2]) -> Result<Copier, CaptureError> {
        let lease = self.pool.lease(&blocks.map(|block| block.id()))?;
        let session = CaptureSession::new(&self.streams[on])?.branch(&self.streams[2])?;
        let memory = DeviceMemory::new(&self.device);
        let arena = CudaArena::new(memory, 1 << 16, ArenaPolicy::Monotone)?;
        let prepared = session.lease(lease).prepare(arena)?;
        let graph = prepared.capture(0, |capture, _: &mut u8| body(capture, &blocks))?;
        Ok(Copier { graph, blocks, input: None, output: None })
    }

    fn blocks(&self) -> Result<[GraphMemoryBlock; 2], CaptureError> {
        Ok([self.pool.allocate(BYTES)?, self.pool.allocate(BYTES)?])
    }
}

fn body(capture: &Capture<'_>, blocks: &[GraphMemoryBlock; 2]) -> Result<(), CaptureError> {
    let (main, branch) = (capture.main(), capture.branch(0)?);
    let mut view = capture.acquire::<u32>(N)?;
    capture.copy(main, &mut view, &capture.block(&blocks[0])?)?;
    let mut next = capture.acquire::<u32>((branch, N))?;
    capture.copy(branch, &mut next, &view)?;
    capture.scope(main, |scope| {
        let mut zeros = scope.try_acquire_zeroed::<u32, _>(N)?;
        Ok::<(), CaptureError>(zeros.fill_with_value(3)?)
    })?;
    capture.copy(main, &mut capture.block::<u32>(&blocks[1])?, &next)
}

/// The counters of a program.
#[derive(Default)]
struct Counts {
    errors: usize,
    wrong: usize,
}

impl Counts {
    fn is_ok<T>(&mut self, taken: &Result<T, CaptureError>) -> bool {
        self.errors += usize::from(taken.is_err());
        taken.is_ok()
    }

    fn compare(&mut self, found: &[u32], expected: Holds) {
        let is_right = expected.is_none_or(|expected| found.iter().all(|one| *one == expected));
        self.wrong += usize::from(!is_right);
    }
}

impl Copier {
    fn take(
        &mut self,
        random: &mut Rng,
        staging: &mut StagingPool,
        tickets: &mut Vec<(ReadTicket<u32>, Holds)>,
        counts: &mut Counts,
    ) {
        let (value, [from, to]) = (random.u32(..), self.blocks);
        match random.u8(..9) {
            0 | 1 => {
                let written = self.graph.enqueue_write(staging, &from, &[value; N]);
                self.input = counts.is_ok(&written).then_some(value);
            }
            2 => {
                let written = self.graph.write(&from, &[value; N]);
                self.input = counts.is_ok(&written).then_some(value);
            }
            3 | 4 => {
                let replayed = counts.is_ok(&self.graph.replay());
                self.output = self.input.filter(|_| replayed);
            }
            5 => match self.graph.enqueue_read::<u32>(staging, &to, N) {
                Ok(ticket) => tickets.push((ticket, self.output)),
                // All buffers may be in use at this point.
                Err(CaptureError::StagingExhausted { .. }) => {}
                Err(_) => counts.errors += 1,
            },
            6 => {
                let mut found = [0_u32; N];
                if counts.is_ok(&self.graph.read(&to, &mut found)) {
                    counts.compare(&found, self.output);
                }
            }
            7 => {
                let blocks = self.blocks;
                let updated = self.graph.update(|capture, _| body(capture, &blocks));
                counts.is_ok(&updated);
            }
            _ => {
                let state = self.graph.state().map(drop);
                counts.is_ok(&state);
            }
        }
    }
}

fn wait_for_one(
    tickets: &mut Vec<(ReadTicket<u32>, Holds)>,
    random: &mut Rng,
    counts: &mut Counts,
) {
    if tickets.is_empty() {
        return;
    }
    let (mut ticket, expected) = tickets.swap_remove(random.usize(..tickets.len()));
    if random.bool() {
        counts.is_ok(&ticket.is_done());
    }
    match ticket.wait() {
        Ok(found) => counts.compare(found, expected),
        Err(_) => counts.errors += 1,
    }
}

/// Feeds graphs on two streams. One graph is dropped, and a graph on another stream takes over its
/// blocks.
fn feeding(number: u64, arm: &dyn Fn()) -> (usize, usize) {
    let (world, mut random, mut counts) = (World::new(), Rng::with_seed(number), Counts::default());
    let config = StagingConfig { buffers: 4, bytes: 4 * N };
    let mut staging = StagingPool::with_config(world.device.context(), config).unwrap();
    let mut eager = Pool::<Cuda>::new(world.device.new_stream().unwrap());
    let made = world.blocks().and_then(|blocks| world.copier(0, blocks));
    let mut graphs = [Some(made.unwrap()), None];
    let mut tickets = Vec::new();
    arm();
    for _ in 0..random.usize(10..40) {
        let on = random.usize(..2);
        match (&mut graphs[on], random.u8(..12)) {
            (graph @ Some(_), 0) => {
                // The blocks are passed to a graph on the other stream while runs may be pending.
                let Some(Copier { graph, blocks, .. }) = graph.take() else { continue };
                drop(graph);
                if graphs[1 - on].is_none() {
                    let next = world.copier(1 - on, blocks).map(|next| graphs[1 - on] = Some(next));
                    counts.is_ok(&next);
                }
            }
            (None, 1) => {
                let made = world.blocks().and_then(|blocks| world.copier(on, blocks));
                let made = made.map(|made| graphs[on] = Some(made));
                counts.is_ok(&made);
            }
            (_, 2) => {
                let scope = eager.scope();
                match scope.try_acquire_from(&[7_u32; N]).map(|view| view.copy_to_vec()) {
                    Ok(Ok(found)) => counts.compare(&found, Some(7)),
                    _ => counts.errors += 1,
                }
            }
            (_, 3) => wait_for_one(&mut tickets, &mut random, &mut counts),
            (Some(graph), _) => graph.take(&mut random, &mut staging, &mut tickets, &mut counts),
            (None, _) => {}
        }
    }
    if random.bool() {
        drop(graphs);
        drop(staging);
    }
    while !tickets.is_empty() {
        wait_for_one(&mut tickets, &mut random, &mut counts);
    }
    (counts.errors, counts.wrong)
}

/// Runs tame random bodies. A failing step ends the program in its current state.
fn bodies(number: u64, arm: &dyn Fn()) -> (usize, usize) {
    let ended = catch_unwind(AssertUnwindSafe(|| wild::run_tame(number, arm)));
    (usize::from(ended.is_err()), 0)
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn ordering_calls_that_fail_in_programs_of_graphs() {
    let kinds = [
        Programs { name: "feeding", devices: 1, run: &feeding },
        Programs { name: "bodies", devices: 1, run: &bodies },
    ];
    let simulator = start();
    // A refused body panics, which is an expected end here.
    let hook = take_hook();
    set_hook(Box::new(|_| {}));
    let swept = catch_unwind(AssertUnwindSafe(|| sweep(simulator, &kinds)));
    set_hook(hook);
    assert!(swept.is_ok(), "see the table");
}
