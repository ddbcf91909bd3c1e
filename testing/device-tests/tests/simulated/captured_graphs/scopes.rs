//! Scopes in captures on the simulated driver: random orders under the race checker, each call
//! failing in turn, and the calls of a replay.

use std::sync::Arc;

use cuda_sim_control::Settings;
use cudarc::driver::CudaStream;
use pool_core::PoolViewMut;
use pool_cuda::Cuda;
use pool_graph::{Capture, CaptureError, CapturedGraph};

use crate::cases::{free_bytes, replay_a_thousand_times};
use crate::faults::GIVEN_UP;
use crate::steps::{Axpy, Ends, N, assert_same_bits, eager, input};
use crate::support::{orders, start, start_anew};

fn streams() -> [Arc<CudaStream>; 2] {
    let context = Arc::clone(Cuda::device(0).unwrap().context());
    [context.new_stream().unwrap(), context.new_stream().unwrap()]
}

/// Scopes on both streams, temporaries of the capture between them, and memory that passes from one
/// to the other: a combination of everything.
fn body(capture: &Capture<'_>, ends: Ends, axpy: &Axpy) -> Result<(), CaptureError> {
    let (main, branch) = (capture.main(), capture.branch(0)?);
    for _ in 0..2 {
        let mut scratch = capture.acquire::<f64>(N)?;
        capture.copy(main, &mut scratch, &capture.block(&ends.from)?)?;
        let mut side = capture.acquire::<f64>((branch, N))?;
        {
            let scratch = capture.lend(branch, &mut scratch)?;
            let mut side = capture.lend(branch, &mut side)?;
            capture.scope(branch, |scope| {
                let mut view = scope.try_acquire_filled(N, 0.25_f64)?;
                axpy.on_scope(scope, 1.0, &scratch.view()?, &mut view)?;
                Ok::<(), CaptureError>(side.view_mut()?.copy_from(view.as_view())?)
            })?;
        }
        capture.copy(main, &mut scratch, &side)?;
        ends.body(capture, axpy)?;
    }
    // On one stream with memory of another: one pool each, which order the two.
    capture.scope(main, |outer| {
        let mut kept = outer.try_acquire_zeroed::<f64, _>(N)?;
        for _ in 0..2 {
            capture.scope(branch, |inner| {
                let view = inner.try_acquire_zeroed::<f64, _>(N)?;
                axpy.on_stream(inner.context().stream(), 1.0, &view.as_view(), &mut kept)
            })?;
            kept.fill_with_value(3.0)?;
        }
        Ok::<(), CaptureError>(())
    })
}

/// A small part of it: each call of a scope in a capture, once or twice.
fn small_body(capture: &Capture<'_>, ends: Ends, axpy: &Axpy) -> Result<(), CaptureError> {
    ends.with_views(capture, |scope, from, to| {
        let mut sum = scope.try_acquire_filled(N, 0.1_f64)?;
        capture.scope(capture.branch(0)?, |inner| {
            axpy.on_stream(inner.context().stream(), 2.0, from, &mut sum)
        })?;
        Ok(to.copy_from(sum.as_view())?)
    })
}

/// Returns the result of `small_body` for an input.
fn small_result(input: &[f64]) -> Vec<f64> {
    input.iter().map(|&number| 2.0_f64.mul_add(number, 0.1)).collect()
}

type Body = fn(&Capture<'_>, Ends, &Axpy) -> Result<(), CaptureError>;

fn planned(
    streams: &[Arc<CudaStream>; 2],
    axpy: &Axpy,
    body: Body,
) -> Result<(CapturedGraph, Ends), CaptureError> {
    let (session, ends) = Ends::of_session(&[&streams[0], &streams[1]])?;
    let run = |capture: &Capture<'_>, (): &mut ()| body(capture, ends, axpy);
    let probe = session.probe(&mut (), run)?;
    Ok((session.planned(&probe)?.capture((), run)?, ends))
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn captured_scopes_do_not_race() {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, Settings::default(), seed);
        let streams = streams();
        let axpy = Axpy::load(streams[0].context());
        let (mut graph, ends) = planned(&streams, &axpy, body).unwrap();
        for round in 0..2 {
            let expected = eager(&axpy, &streams[1], &input(round));
            assert_same_bits(&ends.run(&mut graph, &input(round)).unwrap(), &expected);
        }
        drop((graph, axpy, streams));
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_thousand_replays_of_a_scope_ask_for_launches_alone() {
    let simulator = start();
    let streams = streams();
    let axpy = Axpy::load(streams[0].context());
    let expected = eager(&axpy, &streams[1], &input(9));
    let (mut graph, ends) = planned(&streams, &axpy, body).unwrap();
    graph.upload().unwrap();
    graph.write(&ends.from, &input(9)).unwrap();
    let before = free_bytes();
    replay_a_thousand_times(simulator, &mut graph);
    let mut found = vec![0.0; N];
    graph.read(&ends.to, &mut found).unwrap();
    assert_same_bits(&found, &expected);
    assert_eq!(free_bytes(), before);
}

/// A probe enqueues no work: the device stays idle after every launch.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_probe_of_scopes_runs_nothing_and_takes_no_memory() {
    let simulator = start();
    let streams = streams();
    let axpy = Axpy::load(streams[0].context());
    let (session, ends) = Ends::of_session(&[&streams[0], &streams[1]]).unwrap();
    let ran = simulator.trace().len();
    simulator.forget_calls();
    let body = |capture: &Capture<'_>, (): &mut ()| body(capture, ends, &axpy);
    let probe: Result<_, CaptureError> = session.probe(&mut (), body);
    assert!(probe.unwrap().footprint().peak > 0);
    streams.iter().for_each(|stream| stream.synchronize().unwrap());
    assert_eq!(simulator.trace().len(), ran);
    for name in ["cuMemAlloc_v2", "cuMemAllocFromPoolAsync", "cuMemHostAlloc", "cuMemPoolCreate"] {
        assert_eq!(simulator.calls(name), 0, "{name}");
    }
    assert!(simulator.calls("cuLaunchKernel") > 0, "recorded on a stream that is discarded");
    // One stream is captured, and the capture began on the other.
    assert_eq!(simulator.calls("cuStreamCreate"), 2);
    drop((session, axpy, streams));
    simulator.assert_clean();
    simulator.assert_no_leaks();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn every_call_of_captured_scopes_may_fail() {
    let simulator = start();
    let script = |streams: &[Arc<CudaStream>; 2], axpy: &Axpy| {
        let (mut graph, ends) = planned(streams, axpy, small_body)?;
        assert_same_bits(&ends.run(&mut graph, &input(6))?, &small_result(&input(6)));
        Ok::<(), CaptureError>(())
    };
    let (mut failures, mut absorbed) = (0, 0);
    for nth in 1.. {
        start_anew(simulator, Settings::default(), nth);
        let streams = streams();
        let axpy = Axpy::load(streams[0].context());
        simulator.forget_calls();
        simulator.fail_any_call(nth, 999);
        let ended = script(&streams, &axpy);
        let log = simulator.log();
        let Some(failed) = log.iter().find(|call| call.code == 999).cloned() else {
            assert_eq!(ended, Ok(()));
            break;
        };
        simulator.forget_failures();
        match &ended {
            Err(_) => failures += 1,
            Ok(()) => absorbed += 1,
        }
        // An error that cudarc stores for its next call must not affect the next script.
        let _ = streams[0].context().check_err();
        let again = script(&streams, &axpy);
        assert_eq!(again, Ok(()), "after call {nth}, {}: {ended:?}", failed.name);
        drop((streams, axpy));
        simulator.assert_clean();
        // The last one is a call for modules, which cudarc makes.
        if !GIVEN_UP.contains(&failed.name.as_str()) && failed.name != "cuModuleUnload" {
            let leaks = simulator.leaks();
            assert!(leaks.is_empty(), "{} as call {nth}: {leaks:?}", failed.name);
        }
    }
    println!("{failures} failures returned, {absorbed} absorbed");
    assert!(failures > 50);
}
