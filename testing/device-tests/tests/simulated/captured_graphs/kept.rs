//! Values that a body moves into its graph: when they are dropped, on which side of the driver's
//! calls, and what their destructors may do.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;

use cuda_sim_control::{Settings, Simulator};
use cudarc::driver::CudaFunction;
use cudarc::driver::sys::{self, CUstreamCaptureMode};
use cudarc::nvrtc::Ptx;
use pool_core::Pool;
use pool_cuda::{Cuda, DeferredFreeKind, Launch};
use pool_graph::{Capture, CaptureError, CaptureSession, CapturedGraph, PreparedCapture};
use pool_kernels::elementwise;

use crate::common::{arena, stream};
use crate::support::{start, start_anew};

/// A value whose destructor notes the calls that have been made so far.
struct Noted {
    simulator: Simulator,
    drops: Arc<AtomicU64>,
    /// The number of calls that end captures, destroy executable graphs, and destroy graphs.
    expected: [u64; 3],
}

const CALLS: [&str; 3] = ["cuStreamEndCapture", "cuGraphExecDestroy", "cuGraphDestroy"];

impl Drop for Noted {
    fn drop(&mut self) {
        assert_eq!(CALLS.map(|call| self.simulator.calls(call)), self.expected);
        self.drops.fetch_add(1, Ordering::Relaxed);
    }
}

fn prepared() -> PreparedCapture {
    CaptureSession::new(&stream()).unwrap().prepare(arena()).unwrap()
}

/// Fills a temporary, and keeps a value.
fn body<T: Send + 'static>(capture: &Capture<'_>, value: T) -> Result<(), CaptureError> {
    let mut view = capture.acquire::<u32>(64)?;
    capture.fill_bytes(capture.main(), &mut view, 1)?;
    capture.keep(value)
}

fn graph_with<T: Send + 'static>(value: T) -> CapturedGraph {
    prepared().capture((), |capture, ()| body(capture, value)).unwrap()
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_value_is_dropped_after_its_graph() {
    let simulator = start();
    let drops = Arc::new(AtomicU64::new(0));
    let noted = |expected| Noted { simulator, drops: Arc::clone(&drops), expected };
    let count = || drops.load(Ordering::Relaxed);
    let mut graph = graph_with(noted([2, 0, 1]));
    graph.replay().unwrap();
    assert_eq!(count(), 0);
    // The update destroys the first graph only.
    graph.update(|capture, ()| body(capture, noted([2, 1, 2]))).unwrap();
    assert_eq!(count(), 1);
    graph.replay().unwrap();
    drop(graph);
    assert_eq!(count(), 2);
    // A dry run drops the value at its end.
    let session = CaptureSession::new(&stream()).unwrap();
    let probe = session.probe(&mut (), |capture, ()| {
        body(capture, noted([2, 1, 2]))?;
        assert_eq!(count(), 2);
        Ok::<(), CaptureError>(())
    });
    probe.unwrap();
    assert_eq!(count(), 3);
    simulator.assert_clean();
}

/// The capture in the driver ends first. Its streams are not joined, so the driver returns no
/// graph.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_failed_capture_drops_its_values() {
    let simulator = start();
    let drops = Arc::new(AtomicU64::new(0));
    let noted = Noted { simulator, drops: Arc::clone(&drops), expected: [1, 0, 0] };
    let failed = prepared().capture((), |capture, ()| {
        body(capture, noted)?;
        Err::<(), _>(CaptureError::ForeignView)
    });
    assert!(failed.is_err());
    assert_eq!((drops.load(Ordering::Relaxed), Cuda::deferred_frees().total()), (1, 0));
    simulator.assert_clean();
}

/// The driver refuses to destroy an object twice. The value waits for the object.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_value_waits_for_an_object_that_was_not_destroyed() {
    let simulator = start();
    for (call, kind) in
        [(CALLS[1], DeferredFreeKind::Executable), (CALLS[2], DeferredFreeKind::Graph)]
    {
        start_anew(simulator, Settings::default(), 1);
        let drops = Arc::new(AtomicU64::new(0));
        // Refused calls are counted, too. The first retry follows at once.
        let expected = CALLS.map(|name| if name == call { 3 } else { 1 });
        let graph = graph_with(Noted { simulator, drops: Arc::clone(&drops), expected });
        simulator.fail_call(call, 1, 999);
        simulator.fail_call(call, 2, 999);
        drop(graph);
        assert_eq!(
            (drops.load(Ordering::Relaxed), Cuda::deferred_frees().of(kind)),
            (0, 1),
            "{call}"
        );
        simulator.forget_failures();
        assert_eq!(Cuda::retry_deferred_frees(), 0);
        assert_eq!(drops.load(Ordering::Relaxed), 1, "{call}");
        simulator.assert_clean();
    }
}

/// A value whose destructor only counts.
struct Counted(Arc<AtomicU64>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The driver may have performed an update that returns an unknown error. The graph then needs the
/// values from before the update and those of the update.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_update_with_an_unknown_outcome_keeps_both_values() {
    let simulator = start();
    let [old, new] = [(); 2].map(|()| Arc::new(AtomicU64::new(0)));
    let dropped = || [&old, &new].map(|drops| drops.load(Ordering::Relaxed));
    let mut graph = graph_with(Counted(Arc::clone(&old)));
    simulator.fail_call("cuGraphExecUpdate_v2", 1, 999);
    let updated = graph.update(|capture, ()| body(capture, Counted(Arc::clone(&new))));
    assert!(updated.is_err());
    simulator.forget_failures();
    assert_eq!(Cuda::retry_deferred_frees(), 0);
    assert_eq!(dropped(), [0, 0]);
    drop(graph);
    assert_eq!(dropped(), [1, 1]);
    simulator.assert_clean();
}

/// While any session captures, no destructor runs, because it may invalidate that capture.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn values_wait_for_other_captures() {
    let simulator = start();
    let drops = Arc::new(AtomicU64::new(0));
    let graph = graph_with(Noted { simulator, drops: Arc::clone(&drops), expected: [2, 1, 1] });
    let (dropped, is_dropped) = channel();
    let another = prepared().capture((), |capture, ()| {
        body(capture, ())?;
        std::thread::scope(|scope| scope.spawn(|| drop(graph)).join().unwrap());
        dropped.send(drops.load(Ordering::Relaxed)).unwrap();
        Ok::<(), CaptureError>(())
    });
    drop(another.unwrap());
    assert_eq!((is_dropped.recv().unwrap(), drops.load(Ordering::Relaxed)), (0, 1));
    simulator.assert_clean();
}

/// A dry run ends during a capture of another session. Its values wait for the end of that capture.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn values_of_a_dry_run_wait_for_other_captures() {
    let simulator = start();
    let drops = Arc::new(AtomicU64::new(0));
    let noted = Noted { simulator, drops: Arc::clone(&drops), expected: [1, 0, 0] };
    let dry = CaptureSession::new(&stream()).unwrap();
    let another = prepared().capture((), |capture, ()| {
        dry.probe(&mut (), |dry, ()| body(dry, noted))?;
        assert_eq!(drops.load(Ordering::Relaxed), 0);
        assert_eq!(Cuda::deferred_frees().of(DeferredFreeKind::OwnedMemory), 1);
        body(capture, ())
    });
    drop(another.unwrap());
    assert_eq!((drops.load(Ordering::Relaxed), Cuda::deferred_frees().total()), (1, 0));
    simulator.assert_clean();
}

/// The unload of a module is made in the relaxed mode, while a stream is captured by hand.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_module_is_unloaded_during_an_explicit_capture() {
    let simulator = start();
    for mode in [
        CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL,
        CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
    ] {
        start_anew(simulator, Settings::default(), 1);
        let graph = graph_with(function());
        let captured = stream();
        captured.begin_capture(mode).unwrap();
        let mut found = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        simulator.before_call("cuModuleUnload", 1, move || {
            // SAFETY: the variable outlives the call.
            let _ = unsafe { sys::cuThreadExchangeStreamCaptureMode(&raw mut found) };
            assert_eq!(found, CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED);
        });
        drop(graph);
        assert_eq!(simulator.calls("cuModuleUnload"), 1);
        assert_eq!(captured.capture_status(), Ok(ACTIVE));
        captured.end_capture(crate::common::NO_FLAGS).unwrap();
        simulator.assert_clean();
    }
}

const ACTIVE: sys::CUstreamCaptureStatus =
    sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE;

/// A panic of a destructor does not leave the queue of deferred frees, and the values and objects
/// behind it are still dropped.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_destructor_panics() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("as it should");
        }
    }
    let simulator = start();
    let drops = Arc::new(AtomicU64::new(0));
    let graph: CapturedGraph = prepared()
        .capture((), |capture, ()| {
            body(capture, Noted { simulator, drops: Arc::clone(&drops), expected: [1, 1, 1] })?;
            capture.keep(Panics)?;
            body(capture, Noted { simulator, drops: Arc::clone(&drops), expected: [1, 1, 1] })
        })
        .unwrap();
    drop(graph);
    assert_eq!((drops.load(Ordering::Relaxed), Cuda::deferred_frees().total()), (2, 0));
    simulator.assert_clean();
}

/// Destructors use pools and graphs.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn destructors_use_pools_and_graphs() {
    struct Busy(Option<CapturedGraph>);
    impl Drop for Busy {
        fn drop(&mut self) {
            let device = Cuda::device(0).unwrap();
            let mut pool = Pool::<Cuda>::new(device.new_stream().unwrap());
            assert_eq!(pool.scope().acquire_zeroed::<u32, _>(100).len(), 100);
            self.0.take().unwrap().replay().unwrap();
        }
    }
    let simulator = start();
    let inner = graph_with(Busy(Some(graph_with(function()))));
    let outer = graph_with(Busy(Some(inner)));
    let captured = prepared().capture((), |capture, ()| {
        drop(outer);
        body(capture, ())
    });
    drop(captured.unwrap());
    assert_eq!((simulator.calls("cuModuleUnload"), Cuda::deferred_frees().total()), (1, 0));
    simulator.assert_clean();
}

fn function() -> CudaFunction {
    let module = Ptx::from_src(elementwise::MODULE.text());
    let module = Cuda::device(0).unwrap().context().load_module(module).unwrap();
    module.load_function(elementwise::SCALE.f64).unwrap()
}

/// A function that is launched many times is kept once.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_function_is_kept_once() {
    let simulator = start();
    let function = function();
    let mut graph = prepared()
        .capture((), |capture, ()| {
            capture.scope(capture.main(), |scope| {
                for _ in 0..1000 {
                    drop(scope.launch(&function));
                }
                Ok::<(), CaptureError>(())
            })
        })
        .unwrap();
    drop(function);
    graph.replay().unwrap();
    assert_eq!(simulator.calls("cuModuleUnload"), 0);
    drop(graph);
    assert_eq!(simulator.calls("cuModuleUnload"), 1);
    simulator.assert_clean();
}
