//! Captured graphs on the simulated driver: a replay makes only the launch call, and the race
//! checker runs one capture in many orders.

use std::sync::Arc;

use cuda_sim_control::{Settings, Simulator};
use cudarc::driver::CudaStream;
use pool_cuda::Cuda;
use pool_graph::{
    ArenaPolicy, CUDAGraphMemoryPool, Capture, CaptureError, CaptureMode, CaptureSession,
    CapturedGraph, CudaArena, DeviceMemory, GraphMemoryBlock, GraphPoolConfig,
};

use crate::programs::{Program, check_results, session};
use crate::support::{orders, start, start_anew};

pub(crate) const BYTES: usize = 1024;

/// Two branches with temporaries that reuse the same bytes are joined into the output, whose last
/// bytes come from the host.
pub(crate) fn body(
    capture: &Capture<'_>,
    blocks: [GraphMemoryBlock; 3],
    last: u8,
) -> Result<(), CaptureError> {
    let (main, side) = (capture.main(), capture.branch(0)?);
    let input = capture.block::<u8>(&blocks[0])?;
    for _ in 0..2 {
        let mut left = capture.acquire::<u8>(BYTES)?;
        capture.copy(main, &mut left, &input)?;
        let mut right = capture.acquire::<u8>((side, BYTES))?;
        capture.copy(side, &mut right, &left)?;
        let mut back = capture.acquire::<u8>(BYTES)?;
        capture.copy(main, &mut back, &right)?;
        capture.copy(main, &mut capture.block(&blocks[1])?, &back)?;
    }
    let mut numbers = capture.acquire::<u8>(256)?;
    capture.copy_from_host(side, &mut numbers, &[last; 256])?;
    capture.copy(side, &mut capture.block(&blocks[2])?, &numbers)
}

/// A graph whose state is the byte that is copied from the host.
pub(crate) type Planned = (CapturedGraph<u8>, [GraphMemoryBlock; 3]);

/// Returns a planned graph for two streams, with a pool of three blocks.
pub(crate) fn graph_of(streams: &[Arc<CudaStream>; 2]) -> Result<Planned, CaptureError> {
    let memory = DeviceMemory::of_context(Arc::clone(streams[0].context()));
    let pool =
        CUDAGraphMemoryPool::with_config(memory, GraphPoolConfig { initial: 0, maximum: u64::MAX });
    let blocks = [pool.allocate(BYTES as u64)?, pool.allocate(BYTES as u64)?, pool.allocate(256)?];
    let lease = pool.lease(&blocks.map(|block| block.id()))?;
    let session = CaptureSession::new(&streams[0])?.branch(&streams[1])?.lease(lease);
    let run = |capture: &Capture<'_>, last: &mut u8| body(capture, blocks, *last);
    let probe = session.probe(&mut 1, run)?;
    Ok((session.planned(&probe)?.capture(1, run)?, blocks))
}

pub(crate) fn streams() -> Result<[Arc<CudaStream>; 2], CaptureError> {
    let context = Arc::clone(Cuda::device(0)?.context());
    Ok([context.new_stream()?, context.new_stream()?])
}

/// Makes the graph copy another byte from the host.
pub(crate) fn update((graph, blocks): &mut Planned, last: u8) -> Result<(), CaptureError> {
    *graph.state()? = last;
    graph.update(|capture, last: &mut u8| body(capture, *blocks, *last))
}

/// Replays, and compares the output with the input's byte and the host's byte.
pub(crate) fn replay(
    (graph, blocks): &mut Planned,
    value: u8,
    last: u8,
) -> Result<(), CaptureError> {
    graph.write(&blocks[0], &[value; BYTES])?;
    graph.replay()?;
    let (mut bytes, mut from_host) = ([0_u8; BYTES], [0_u8; 256]);
    graph.read(&blocks[1], &mut bytes)?;
    graph.read(&blocks[2], &mut from_host)?;
    assert!(bytes == [value; BYTES] && from_host == [last; 256], "{} {}", bytes[0], from_host[0]);
    Ok(())
}

/// Probes, plans, captures, replays, updates, replays, reads, and drops.
pub(crate) fn script(streams: &[Arc<CudaStream>; 2]) -> Result<(), CaptureError> {
    let mut planned = graph_of(streams)?;
    replay(&mut planned, 3, 1)?;
    update(&mut planned, 2)?;
    replay(&mut planned, 4, 2)
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_thousand_replays_ask_for_launches_alone() {
    let simulator = start();
    let streams = streams().unwrap();
    let (mut graph, blocks) = graph_of(&streams).unwrap();
    graph.upload().unwrap();
    graph.write(&blocks[0], &[7_u8; BYTES]).unwrap();
    let before = free_bytes();
    replay_a_thousand_times(simulator, &mut graph);
    let mut bytes = [0_u8; BYTES];
    graph.read(&blocks[1], &mut bytes).unwrap();
    assert_eq!(bytes, [7; BYTES]);
    assert_eq!(free_bytes(), before);
    drop((graph, streams));
    simulator.assert_clean();
    simulator.assert_no_leaks();
}

/// Checks that replays make only two kinds of calls: setting the current context, and the launch.
pub(crate) fn replay_a_thousand_times<S>(simulator: Simulator, graph: &mut CapturedGraph<S>) {
    simulator.forget_calls();
    for _ in 0..1000 {
        graph.replay().unwrap();
    }
    let log = simulator.log();
    let count = |name: &str| log.iter().filter(|call| call.name == name).count();
    assert_eq!((count("cuGraphLaunch"), count("cuCtxGetCurrent")), (1000, 1000));
    assert_eq!(log.len(), 2000);
}

/// Returns the number of free bytes on the device.
pub(crate) fn free_bytes() -> usize {
    cudarc::driver::result::mem_get_info().unwrap().0
}

fn planned(simulator: Simulator, program: &Program, replays: usize) {
    let memory = DeviceMemory::new(&Cuda::device(0).unwrap());
    let (session, kept) = session(&memory, program);
    let body = |capture: &Capture<'_>, (): &mut ()| program.body(capture, &kept);
    let probe = session.probe(&mut (), body).unwrap();
    let mut graph = session.planned(&probe).unwrap().capture((), body).unwrap();
    check_results(&mut graph, program, &kept, replays);
    let (footprint, verified) = (graph.footprint(), graph.verified());
    graph.update(body).unwrap();
    assert_eq!((graph.footprint(), graph.verified()), (footprint, verified));
    check_results(&mut graph, program, &kept, 1);
    drop(graph);
    simulator.assert_clean();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn one_planned_capture_in_many_orders() {
    let simulator = start();
    let program = Program::random(3, 4, 100);
    for seed in 0..orders() {
        start_anew(simulator, Settings::default(), seed);
        planned(simulator, &program, 1);
    }
}

/// A graph is dropped while another thread captures. Its handles are destroyed after the capture.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_drop_during_a_capture_is_deferred() {
    let simulator = start();
    let (own, other) = (streams().unwrap(), streams().unwrap());
    let (old, _) = graph_of(&own).unwrap();
    let destroyed = || simulator.calls("cuGraphExecDestroy") + simulator.calls("cuGraphDestroy");
    let session = CaptureSession::new(&other[0]).unwrap().mode(CaptureMode::Global);
    let memory = DeviceMemory::of_context(Arc::clone(other[0].context()));
    let arena = CudaArena::new(memory, 4096, ArenaPolicy::Monotone).unwrap();
    let made: Result<CapturedGraph, CaptureError> =
        session.prepare(arena).unwrap().capture((), |capture, ()| {
            std::thread::spawn(move || drop(old)).join().unwrap();
            assert_eq!(destroyed(), 0);
            let mut view = capture.acquire::<u8>(100)?;
            capture.fill_bytes(capture.main(), &mut view, 1)
        });
    assert_eq!(destroyed(), 2, "once the capture is over");
    drop(made.unwrap());
    drop((own, other));
    simulator.assert_clean();
    simulator.assert_no_leaks();
}

/// A graph is updated while another thread captures. The replaced objects are destroyed after the
/// capture.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_update_during_a_capture_of_another_thread() {
    let simulator = start();
    let (own, other) = (streams().unwrap(), streams().unwrap());
    let mut planned = graph_of(&own).unwrap();
    let prepared = {
        let memory = DeviceMemory::of_context(Arc::clone(other[0].context()));
        let arena = CudaArena::new(memory, 4096, ArenaPolicy::Monotone).unwrap();
        let session = CaptureSession::new(&other[0]).unwrap().mode(CaptureMode::Global);
        session.prepare(arena).unwrap()
    };
    let given_back = || simulator.calls("cuGraphDestroy") + simulator.calls("cuMemFreeHost");
    let made: Result<CapturedGraph, CaptureError> = prepared.capture((), |capture, ()| {
        std::thread::scope(|scope| {
            let updates = scope.spawn(|| {
                update(&mut planned, 2).unwrap();
                replay(&mut planned, 3, 2).unwrap();
            });
            updates.join().unwrap();
        });
        assert_eq!(given_back(), 0);
        let mut view = capture.acquire::<u8>(100)?;
        capture.fill_bytes(capture.main(), &mut view, 1)
    });
    assert_eq!(given_back(), 2, "once the capture is over");
    replay(&mut planned, 4, 2).unwrap();
    drop((made.unwrap(), prepared, planned, own, other));
    simulator.assert_clean();
    simulator.assert_no_leaks();
}

/// An explicit capture of the stream is detected before the session begins.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_stream_that_is_captured_by_hand() {
    let simulator = start();
    let streams = streams().unwrap();
    let mode = cudarc::driver::sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
    streams[1].begin_capture(mode).unwrap();
    let refused = graph_of(&streams).map(|_| ());
    assert!(matches!(refused, Err(CaptureError::AlreadyCapturing { .. })), "{refused:?}");
    drop(streams[1].end_capture(cudarc::driver::sys::CUgraphInstantiate_flags(0)).unwrap());
    assert_eq!(script(&streams), Ok(()));
    drop(streams);
    simulator.assert_clean();
    simulator.assert_no_leaks();
}
