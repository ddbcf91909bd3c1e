//! Correct bodies: a capture follows the plan of its own probe, and a body that reuses no bytes is
//! not refused. Each body is captured with and without a plan, replayed, updated and replayed
//! again.

mod found;
mod natural;

use std::sync::Arc;

use cuda_sim_control::Settings;
use cudarc::driver::{CudaFunction, CudaStream, LaunchConfig, PushKernelArg};
use pool_graph::{
    ArenaPolicy, Capture, CaptureError, CaptureSession, CaptureStream, CaptureView, CudaArena,
    GraphMemoryBlock,
};
use pool_kernels::elementwise;

use crate::common::{memory, pool, stream};
use crate::support::{function, start, start_anew};

/// The number of elements in each view and block.
const N: usize = 512;

/// The number of orders for each body.
const ORDERS: u64 = 3;

type Result<T = ()> = std::result::Result<T, CaptureError>;

/// The streams and blocks of a body, and the streams of a library that the body calls.
struct World {
    streams: [Arc<CudaStream>; 3],
    sides: [Arc<CudaStream>; 2],
    blocks: [GraphMemoryBlock; 3],
    axpy: CudaFunction,
}

/// A body with its name, and the final contents of its second block if they are known.
struct Named {
    name: &'static str,
    body: fn(&Capture<'_>, &World) -> Result,
    result: Option<f32>,
}

impl World {
    fn new() -> (Self, CaptureSession) {
        let (streams, sides) = ([(); 3].map(|()| stream()), [(); 2].map(|()| stream()));
        let pool = pool();
        let blocks = [(); 3].map(|()| pool.allocate((N * size_of::<f32>()) as u64).unwrap());
        let session = CaptureSession::new(&streams[0]).unwrap();
        let session = session.branch(&streams[1]).unwrap().branch(&streams[2]).unwrap();
        let session = session.lease(pool.lease(&blocks.map(|block| block.id())).unwrap());
        let axpy = function(streams[0].context(), elementwise::MODULE, elementwise::AXPY.f32);
        (Self { streams, sides, blocks, axpy }, session)
    }

    fn block<'c>(&self, capture: &'c Capture<'c>, number: usize) -> Result<CaptureView<'c, f32>> {
        capture.block(&self.blocks[number])
    }

    /// Adds `x` to `y` on a stream, through raw pointers.
    fn add_raw(&self, stream: &CudaStream, x: u64, y: u64) -> Result {
        let (factor, count) = (1.0_f32, N as u64);
        let mut launch = stream.launch_builder(&self.axpy);
        launch.arg(&factor).arg(&x).arg(&y).arg(&count);
        // SAFETY: the arguments match the parameters of `AXPY`; both are views of `N` elements,
        // which the caller declares.
        unsafe { launch.launch(LaunchConfig::for_num_elems(64)) }?;
        Ok(())
    }

    /// Adds `x` to `y`, enqueued on a stream.
    fn add(
        &self,
        capture: &Capture<'_>,
        on: CaptureStream,
        x: &CaptureView<'_, f32>,
        y: &mut CaptureView<'_, f32>,
    ) -> Result {
        let (from, to) = (x.address(), y.address());
        let uses = [x.read(), y.write()];
        // SAFETY: the kernel reads and writes these views, on this stream.
        unsafe { capture.enqueue(on, &uses, |stream| self.add_raw(stream, from, to)) }
    }
}

/// Returns the names of the session's streams.
fn streams(capture: &Capture<'_>) -> Result<[CaptureStream; 3]> {
    Ok([capture.main(), capture.branch(0)?, capture.branch(1)?])
}

/// Captures a body, replays it, updates it, and replays it again. Before each replay, the second
/// block contains zeros and the other blocks contain ones.
fn run(named: &Named, is_planned: bool) -> Result {
    let (world, session) = World::new();
    let body = |capture: &Capture<'_>, (): &mut ()| (named.body)(capture, &world);
    let prepared = if is_planned {
        let probe = session.probe::<_, CaptureError>(&mut (), body)?;
        session.planned(&probe)?
    } else {
        session.prepare(CudaArena::new(memory(), 1 << 18, ArenaPolicy::Monotone)?)?
    };
    let mut graph = prepared.capture((), body)?;
    for round in 0..3 {
        if round == 2 {
            graph.update(body)?;
        }
        for (number, block) in world.blocks.iter().enumerate() {
            let value = if number == 1 { 0.0_f32 } else { 1.0 };
            graph.write(block, &[value; N])?;
        }
        graph.replay()?;
        let mut found = [0.0_f32; N];
        graph.read(&world.blocks[1], &mut found)?;
        if let Some(result) = named.result {
            assert_eq!(found, [result; N], "{}", named.name);
        }
    }
    Ok(())
}

/// Runs bodies with and without a plan. The simulated driver follows CUDA's documentation, and is
/// tested with both behaviours that the documentation allows.
fn are_accepted(bodies: &[Named]) {
    let simulator = start();
    for (number, named) in bodies.iter().enumerate() {
        for (is_planned, other_answers) in
            [(true, false), (false, false), (true, true), (false, true)]
        {
            for seed in 0..ORDERS {
                let settings = Settings { other_answers, ..Settings::default() };
                start_anew(simulator, settings, number as u64 * ORDERS + seed);
                let done = run(named, is_planned);
                assert_eq!(done, Ok(()), "{}, planned: {is_planned}", named.name);
                simulator.assert_clean();
                simulator.assert_no_leaks();
            }
        }
    }
}
