//! Captured graphs on the simulated driver: every call fails once, replays ask nothing but the launch,
//! and the race checker sees one capture in many orders.

use std::sync::Arc;

use cuda_sim_control::{Settings, Simulator};
use cudarc::driver::CudaStream;
use pool_cuda::Cuda;
use pool_graph::{
    CUDAGraphMemoryPool, Capture, CaptureError, CaptureSession, CapturedGraph, DeviceMemory,
    GraphMemoryBlock, GraphPoolConfig,
};

use crate::programs::{Program, check_results, session};
use crate::support::{orders, start, start_anew};

const BYTES: usize = 1024;

/// Two branches with temporaries that follow each other in the same bytes, joined into the output.
fn body(capture: &Capture<'_>, blocks: [GraphMemoryBlock; 2]) -> Result<(), CaptureError> {
    let (main, side) = (capture.main(), capture.branch(0)?);
    let input = capture.block::<u8>(&blocks[0])?;
    for _ in 0..2 {
        let mut left = capture.acquire::<u8>(BYTES)?;
        capture.copy(main, &mut left, &input)?;
        let mut right = capture.acquire_on::<u8>(side, BYTES)?;
        capture.copy(side, &mut right, &left)?;
        let mut back = capture.acquire::<u8>(BYTES)?;
        capture.copy(main, &mut back, &right)?;
        capture.copy(main, &mut capture.block(&blocks[1])?, &back)?;
    }
    let mut numbers = capture.acquire::<u8>(4)?;
    capture.copy_from_host(side, &mut numbers, &[1, 2, 3, 4])?;
    Ok(())
}

/// Streams, a pool with two blocks, and a graph that was planned for them.
fn graph_of(
    streams: &[Arc<CudaStream>; 2],
) -> Result<(CapturedGraph, [GraphMemoryBlock; 2]), CaptureError> {
    let memory = DeviceMemory::of_context(Arc::clone(streams[0].context()));
    let pool = CUDAGraphMemoryPool::new(memory, GraphPoolConfig { initial: 0, maximum: u64::MAX });
    let blocks = [pool.allocate(BYTES as u64)?, pool.allocate(BYTES as u64)?];
    let lease = pool.lease(&blocks.map(|block| block.id()))?;
    let session = CaptureSession::new(&streams[0])?.branch(&streams[1])?.lease(lease);
    let run = |capture: &Capture<'_>, (): &mut ()| body(capture, blocks);
    let probe = session.probe(&mut (), run)?;
    Ok((session.planned(&probe)?.capture((), run)?, blocks))
}

fn streams() -> Result<[Arc<CudaStream>; 2], CaptureError> {
    let context = Arc::clone(Cuda::device(0)?.context());
    Ok([context.new_stream()?, context.new_stream()?])
}

/// Probe, plan, capture, replay, read, drop.
fn script(streams: &[Arc<CudaStream>; 2]) -> Result<(), CaptureError> {
    let (mut graph, blocks) = graph_of(streams)?;
    for value in [3_u8, 4] {
        graph.write(&blocks[0], &[value; BYTES])?;
        graph.replay()?;
        let mut bytes = [0_u8; BYTES];
        graph.read(&blocks[1], &mut bytes)?;
        if bytes != [value; BYTES] {
            return Err(CaptureError::LengthMismatch { source: 0, destination: BYTES });
        }
    }
    Ok(())
}

/// Calls of destructors, which nobody tries again.
const GIVEN_UP: [&str; 8] = [
    "cuStreamDestroy_v2",
    "cuDevicePrimaryCtxRelease_v2",
    "cuEventDestroy_v2",
    "cuMemPoolDestroy",
    "cuMemFreeHost",
    "cuMemFree_v2",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
];

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn every_call_from_probe_to_drop_may_fail() {
    let simulator = start();
    let (mut failures, mut absorbed) = (0, 0);
    for nth in 1.. {
        start_anew(simulator, Settings::default(), nth);
        let streams = streams().unwrap();
        simulator.forget_calls();
        simulator.fail_any_call(nth, 999);
        let ended = script(&streams);
        let log = simulator.log();
        let Some(failed) = log.iter().find(|call| call.code == 999).cloned() else {
            assert_eq!(ended, Ok(()));
            break;
        };
        simulator.forget_failures();
        match &ended {
            Err(error) => {
                failures += 1;
                // Where a thread cannot be told not to mind captures, the call after that is refused.
                let refused = failed.name == "cuThreadExchangeStreamCaptureMode";
                let named = error.to_string().contains("999 UNKNOWN");
                assert!(named || refused, "{}: {error}", failed.name);
            }
            Ok(()) => absorbed += 1,
        }
        // Nobody answers for what failed: the same streams do the same again.
        let again = script(&streams);
        assert_eq!(again, Ok(()), "after call {nth}, {}: {ended:?}", failed.name);
        drop(streams);
        simulator.assert_clean();
        if !GIVEN_UP.contains(&failed.name.as_str()) {
            let leaks = simulator.leaks();
            assert!(leaks.is_empty(), "{} as call {nth}: {leaks:?}", failed.name);
        }
    }
    println!("{failures} failures answered, {absorbed} absorbed");
    assert!(failures > 50);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_thousand_replays_ask_for_launches_alone() {
    let simulator = start();
    let streams = streams().unwrap();
    let (mut graph, blocks) = graph_of(&streams).unwrap();
    graph.upload().unwrap();
    graph.write(&blocks[0], &[7_u8; BYTES]).unwrap();
    let free = || cudarc::driver::result::mem_get_info().unwrap().0;
    let before = free();
    simulator.forget_calls();
    for _ in 0..1000 {
        graph.replay().unwrap();
    }
    let log = simulator.log();
    let count = |name: &str| log.iter().filter(|call| call.name == name).count();
    assert_eq!((count("cuGraphLaunch"), count("cuCtxGetCurrent")), (1000, 1000));
    assert_eq!(log.len(), 2000);
    let mut bytes = [0_u8; BYTES];
    graph.read(&blocks[1], &mut bytes).unwrap();
    assert_eq!(bytes, [7; BYTES]);
    assert_eq!(free(), before);
    drop((graph, streams));
    simulator.assert_clean();
    simulator.assert_no_leaks();
}

fn planned(simulator: Simulator, program: &Program, replays: usize) {
    let memory = DeviceMemory::new(&Cuda::device(0).unwrap());
    let (session, kept) = session(&memory, program);
    let body = |capture: &Capture<'_>, (): &mut ()| program.body(capture, &kept);
    let probe = session.probe(&mut (), body).unwrap();
    let mut graph = session.planned(&probe).unwrap().capture((), body).unwrap();
    check_results(&mut graph, program, &kept, replays);
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

/// A graph is dropped while another thread captures: its handles go when that is over.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_drop_during_a_capture_is_deferred() {
    let simulator = start();
    let (own, other) = (streams().unwrap(), streams().unwrap());
    let (old, _) = graph_of(&own).unwrap();
    let destroyed = || simulator.calls("cuGraphExecDestroy") + simulator.calls("cuGraphDestroy");
    let session = CaptureSession::new(&other[0]).unwrap().mode(pool_graph::CaptureMode::Global);
    let memory = DeviceMemory::of_context(Arc::clone(other[0].context()));
    let arena =
        pool_graph::CudaArena::new(memory, 4096, pool_graph::ArenaPolicy::Monotone).unwrap();
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

/// Somebody else's capture of the stream is noticed before anything is begun.
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
