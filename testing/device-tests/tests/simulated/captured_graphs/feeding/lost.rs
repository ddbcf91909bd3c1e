//! Buffers whose copies became part of a foreign graph, and buffers without an event after their
//! copy.

use std::sync::Arc;

use cuda_sim_control::{Settings, Simulator};
use cudarc::driver::CudaStream;
use cudarc::driver::sys::{CUresult, CUstreamCaptureMode_enum};
use fastrand::Rng;
use pool_cuda::{Cuda, CudaError};
use pool_driver::capture::is_capturing;
use pool_graph::{CaptureError, StagingPool};

use super::{Fed, OUT, bits, output_of};
use crate::common::{NO_FLAGS, RELAXED, stream, without_a_report};
use crate::support::{orders, start, start_anew};

/// Makes another thread begin to capture the stream immediately before the next call of this name,
/// unless the stream is already captured.
fn capture_before(simulator: Simulator, call: &str, stream: &Arc<CudaStream>) {
    let stream = Arc::clone(stream);
    simulator.before_call(call, 1, move || {
        let begun = std::thread::spawn(move || stream.begin_capture(RELAXED)).join();
        let _twice = begun.unwrap();
    });
}

/// Another thread begins to capture the stream immediately before the copy. The copy becomes a node
/// of that graph, which does not keep the buffer alive. The buffer is never reused, and the other
/// buffers work.
fn a_capture_that_begins_before(call: &str, feed: impl FnOnce(&mut Fed, &mut StagingPool)) {
    let simulator = start();
    let stream = stream();
    let mut fed = Fed::on(&stream);
    let mut staging = fed.staging(2).unwrap();
    capture_before(simulator, call, &stream);
    feed(&mut fed, &mut staging);
    let _spoiled = stream.end_capture(NO_FLAGS);
    for _ in 0..4 {
        fed.begin(&mut staging).unwrap();
        let mut ticket = fed.enqueue(&mut staging, 0).unwrap();
        assert_eq!(bits(ticket.wait().unwrap()), output_of(0, 0.5));
    }
    drop((fed, staging));
    assert_eq!(Cuda::retry_deferred_frees(), 1, "what the other graph may name");
    simulator.assert_clean();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_capture_that_begins_in_the_middle_of_a_write() {
    a_capture_that_begins_before("cuMemcpyHtoDAsync_v2", |fed, staging| {
        fed.begin(staging).unwrap();
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_capture_that_begins_in_the_middle_of_a_read() {
    a_capture_that_begins_before("cuMemcpyDtoHAsync_v2", |fed, staging| {
        let mut ticket = fed.graph.enqueue_read::<f64>(staging, &fed.output, OUT).unwrap();
        let refused = ticket.wait().map(drop);
        let Err(CaptureError::Driver(error)) = refused else { panic!("{refused:?}") };
        assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_CAPTURED_EVENT.into()), "{error}");
    });
}

/// A lost buffer stays lost. It does not cause a refusal while a wait can free another buffer, but
/// it does if there is no other buffer.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn what_is_lost_counts_as_out() {
    let simulator = start();
    let stream = stream();
    let mut fed = Fed::on(&stream);
    let mut staging = fed.staging(1).unwrap();
    let lose = |fed: &mut Fed, staging: &mut StagingPool| {
        capture_before(simulator, "cuMemcpyHtoDAsync_v2", &stream);
        fed.begin(staging).unwrap();
        let _spoiled = stream.end_capture(NO_FLAGS);
    };
    lose(&mut fed, &mut staging);
    let mut ticket = fed.graph.enqueue_read::<f64>(&mut staging, &fed.output, OUT).unwrap();
    ticket.wait().unwrap();
    let exhausted = CaptureError::StagingExhausted { buffers: 2, held: 1, pending: 1 };
    assert_eq!(fed.begin(&mut staging), Err(exhausted));
    drop(ticket);
    lose(&mut fed, &mut staging);
    let refused = fed.begin(&mut staging);
    let Err(CaptureError::Driver(error)) = refused else { panic!("{refused:?}") };
    assert_eq!(error.code(), Some(CUresult::CUDA_ERROR_CAPTURED_EVENT.into()), "{error}");
    drop((fed, staging));
    assert_eq!(Cuda::retry_deferred_frees(), 2, "what the other graphs may name");
    simulator.assert_clean();
}

/// The copy became part of the other graph, and the event could not be recorded. The end of that
/// capture is not the end of the copy.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_copy_in_a_capture_that_cannot_be_marked() {
    let simulator = start();
    let stream = stream();
    let mut fed = Fed::on(&stream);
    let mut staging = fed.staging(1).unwrap();
    capture_before(simulator, "cuMemcpyHtoDAsync_v2", &stream);
    simulator.fail_call("cuEventRecord", 1, 999);
    let refused = fed.begin(&mut staging);
    assert!(matches!(refused, Err(CaptureError::Driver(CudaError::Call { .. }))), "{refused:?}");
    let graph = stream.end_capture(NO_FLAGS).unwrap().unwrap();
    for _ in 0..2 {
        fed.begin(&mut staging).unwrap();
        fed.graph.synchronize().unwrap();
    }
    drop(staging);
    assert_eq!(Cuda::retry_deferred_frees(), 1, "what the other graph names");
    graph.launch().unwrap();
    fed.graph.synchronize().unwrap();
    drop((graph, fed));
    simulator.assert_clean();
}

/// Returning a buffer without an event does not wait for a context, because other code may be
/// capturing.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn what_could_not_be_marked_spoils_no_capture() {
    without_a_report(|| {
        let simulator = Simulator::attach().unwrap();
        let mut fed = Fed::on(&stream());
        let mut staging = fed.staging(1).unwrap();
        simulator.fail_call("cuEventRecord", 1, 999);
        assert!(fed.begin(&mut staging).is_err());
        simulator.fail_call("cuEventRecord", 1, 999);
        drop(staging);
        let other = stream();
        other.begin_capture(CUstreamCaptureMode_enum::CU_STREAM_CAPTURE_MODE_GLOBAL).unwrap();
        assert_eq!(Cuda::retry_deferred_frees(), 0);
        other.end_capture(NO_FLAGS).unwrap();
        assert_eq!(simulator.calls("cuCtxSynchronize"), 0);
        let mut ticket =
            fed.graph.enqueue_read::<f64>(&mut fed.staging(1).unwrap(), &fed.output, 1);
        assert!(ticket.as_mut().unwrap().wait().is_ok());
    });
}

/// The driver calls of a step. One of them is refused, and another thread begins a capture
/// immediately before another one.
const CALLS: [&str; 5] = [
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuEventRecord",
    "cuEventQuery",
    "cuStreamIsCapturing",
];

/// Runs steps in random order, with refusals and with intervening captures of another thread. The
/// graphs of these captures are launched after the staging pool has been dropped, and use no freed
/// memory.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn random_refusals_and_captures() {
    let simulator = start();
    let (mut refusals, mut captured) = (0, 0);
    for seed in 0..20 * orders() {
        start_anew(simulator, Settings::default(), seed);
        let before = Cuda::retry_deferred_frees();
        let mut random = Rng::with_seed(seed);
        let stream = stream();
        let mut fed = Fed::on(&stream);
        let mut staging = fed.staging(2).unwrap();
        let (mut tickets, mut graphs) = (Vec::new(), Vec::new());
        for _ in 0..30 {
            let mut call = || CALLS[random.usize(..CALLS.len())];
            let (refused, captured_before) = (call(), call());
            if random.usize(..3) == 0 {
                simulator.fail_call(refused, random.u64(1..3), 999);
            }
            if random.usize(..3) == 0 {
                capture_before(simulator, captured_before, &stream);
            }
            let chosen = (!tickets.is_empty()).then(|| random.usize(..tickets.len()));
            let done = match (random.usize(..6), chosen) {
                (0, _) => fed.begin(&mut staging),
                (1..4, _) => fed
                    .graph
                    .enqueue_read::<f64>(&mut staging, &fed.output, OUT)
                    .map(|ticket| tickets.push(ticket)),
                (4, Some(chosen)) => tickets[chosen].wait().map(drop),
                (_, Some(chosen)) => {
                    drop(tickets.swap_remove(chosen));
                    Ok(())
                }
                _ => Ok(()),
            };
            refusals += usize::from(done.is_err());
            simulator.forget_failures();
            if is_capturing(&stream).unwrap() {
                graphs.extend(stream.end_capture(NO_FLAGS).ok().flatten());
            }
        }
        captured += graphs.len();
        drop((tickets, staging));
        let lost = Cuda::retry_deferred_frees() - before;
        assert!(lost <= graphs.len(), "{lost} buffers of {} graphs, seed {seed}", graphs.len());
        // A planned capture may have begun in one of the drops.
        if is_capturing(&stream).unwrap() {
            drop(stream.end_capture(NO_FLAGS));
        }
        for graph in &graphs {
            graph.launch().unwrap();
        }
        stream.synchronize().unwrap();
        drop((graphs, fed));
        simulator.assert_clean();
    }
    println!("FIGURE: {refusals} refusals, {captured} graphs of others");
    assert!(refusals > 100 && captured > 20, "{refusals} refusals, {captured} graphs");
}
