//! Programs from bug reports of other projects, each with a test of its outcome here.

use std::error::Error;
use std::sync::Arc;

use cuda_sim_control::Settings;
use cudarc::driver::sys::CUstreamCaptureStatus;
use cudarc::driver::{CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg};
use pool_core::{Pool, error_chain};
use pool_cuda::{Cuda, CudaError, Launch};
use pool_graph::{
    ArenaShortage, Capture, CaptureError, CaptureSession, CapturedGraph, GraphMemoryError,
};
use pool_kernels::elementwise;

use crate::common::{Made, NO_FLAGS, RELAXED, arena, stream};
use crate::support::{function, start, start_anew};

const N: u32 = 256;
const LENGTH: u64 = 256;

const NONE: CUstreamCaptureStatus = CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
const INVALIDATED: CUstreamCaptureStatus =
    CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_INVALIDATED;

const CONFIG: LaunchConfig =
    LaunchConfig { grid_dim: (1, 1, 1), block_dim: (N, 1, 1), shared_mem_bytes: 0 };

/// A slice that was created before the capture, and a kernel that reads it.
struct Weights {
    stream: Arc<CudaStream>,
    weights: CudaSlice<f32>,
    axpy: CudaFunction,
}

impl Weights {
    fn new() -> Self {
        let context = Cuda::device(0).unwrap().context().clone();
        let stream = context.new_stream().unwrap();
        let weights = stream.clone_htod(&[2.0_f32; N as usize]).unwrap();
        stream.synchronize().unwrap();
        let axpy = function(&context, elementwise::MODULE, elementwise::AXPY.f32);
        Self { stream, weights, axpy }
    }

    fn session(&self) -> CaptureSession {
        CaptureSession::new(&self.stream).unwrap()
    }

    /// Launches the kernel in a scope, on a view of the scope.
    fn in_scope(&self, capture: &Capture<'_>) -> Result<(), CaptureError> {
        capture.scope(capture.main(), |scope| {
            let mut y = scope.try_acquire_zeroed::<f32, _>(N as usize)?;
            let mut launch = scope.launch(&self.axpy);
            launch.arg(&1.0_f32).arg(&self.weights).arg(&mut y).arg(&LENGTH);
            // SAFETY: the arguments match the kernel's parameters, and the slice outlives the
            // graph.
            unsafe { launch.launch(CONFIG) }?;
            Ok(())
        })
    }

    /// Launches the kernel in enqueued work.
    fn enqueued(&self, capture: &Capture<'_>) -> Result<(), CaptureError> {
        let mut y = capture.acquire::<f32>(N as usize)?;
        capture.fill_bytes(capture.main(), &mut y, 0)?;
        let address = y.address();
        let launch = |stream: &Arc<CudaStream>| {
            let mut launch = stream.launch_builder(&self.axpy);
            launch.arg(&1.0_f32).arg(&self.weights).arg(&address).arg(&LENGTH);
            // SAFETY: as above.
            unsafe { launch.launch(CONFIG) }?;
            Ok(())
        };
        // SAFETY: the work writes its view and reads the slice.
        unsafe { capture.enqueue(capture.main(), &[y.write()], launch) }
    }
}

type Body = fn(&Weights, &Capture<'_>) -> Result<(), CaptureError>;

const BODIES: [Body; 2] = [Weights::in_scope, Weights::enqueued];

fn is_isolation(error: &CaptureError) -> bool {
    matches!(error, CaptureError::Driver(CudaError::Call { code, .. }) if code.number() == 905)
}

/// Work that fails in a capture returns its own error, even if it invalidated the capture. The
/// error that the capture returns at its end has lower priority.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn the_error_of_the_work_is_returned() {
    let simulator = start();
    for (seed, body) in (0..).zip(BODIES) {
        start_anew(simulator, Settings::default(), seed);
        let with = Weights::new();
        let prepared = with.session().prepare(arena()).unwrap();
        let made: Made = prepared.capture((), |capture, ()| body(&with, capture));
        let error = made.map(drop).unwrap_err();
        assert!(is_isolation(&error), "{error:?}");
        simulator.assert_clean();
    }
    start_anew(simulator, Settings::default(), 2);
    let with = Weights::new();
    let body = |capture: &Capture<'_>, (): &mut ()| with.in_scope(capture);
    let error = with.session().probe(&mut (), body).map(drop).unwrap_err();
    assert!(is_isolation(&error), "{error:?}");
    // The body's own error type keeps its source.
    let prepared = with.session().prepare(arena()).unwrap();
    let made: Result<CapturedGraph<()>, Box<dyn Error>> = prepared.capture((), |capture, ()| {
        capture.fill_bytes(capture.main(), &mut capture.acquire::<u8>(100)?, 0)?;
        Ok(with.stream.synchronize()?)
    });
    let error = made.map(drop).unwrap_err();
    assert!(error.is::<cudarc::driver::DriverError>(), "{error}");
    simulator.assert_clean();
}

/// After a cudarc destructor has failed in a capture, cudarc's `end_capture` returns that error
/// without ending the capture. A session still ends its capture, and the stream is unchanged.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn cudarc_leaves_a_capture_invalidated_and_the_pool_does_not() {
    let simulator = start();
    let stream = stream();
    let slice = stream.alloc_zeros::<f32>(100).unwrap();
    stream.begin_capture(RELAXED).unwrap();
    assert!(stream.synchronize().is_err());
    drop(slice);
    assert!(stream.end_capture(NO_FLAGS).is_err());
    assert_eq!(stream.capture_status().unwrap(), INVALIDATED);
    assert!(stream.end_capture(NO_FLAGS).is_err());
    assert_eq!(stream.capture_status().unwrap(), NONE);

    let slice = stream.alloc_zeros::<f32>(100).unwrap();
    let prepared = CaptureSession::new(&stream).unwrap().prepare(arena()).unwrap();
    let made: Made = prepared.capture((), |_, ()| {
        assert!(stream.synchronize().is_err());
        drop(slice);
        Ok(())
    });
    assert!(made.is_err());
    assert_eq!(stream.capture_status().unwrap(), NONE);
    drop(stream.alloc_zeros::<f32>(100).unwrap());
    let made: Made = prepared.capture((), |capture, ()| {
        capture.fill_bytes(capture.main(), &mut capture.acquire::<u8>(100)?, 1)
    });
    made.unwrap().replay().unwrap();
    stream.synchronize().unwrap();
    simulator.assert_clean();
}

/// A slice that was created before the capture is used in it. While cudarc tracks events, the error
/// names the cause. Without event tracking the slice is captured, and dropping it does not affect
/// later pools.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_slice_from_before_is_used_in_a_body() {
    let simulator = start();
    let mut seed = 0;
    for body in BODIES {
        for event_tracking in [true, false] {
            seed += 1;
            start_anew(simulator, Settings::default(), seed);
            let with = Weights::new();
            if !event_tracking {
                // SAFETY: the slice is used only on its own stream.
                unsafe { with.stream.context().disable_event_tracking() };
            }
            let prepared = with.session().prepare(arena()).unwrap();
            let made: Made = prepared.capture((), |capture, ()| body(&with, capture));
            match made {
                Ok(mut graph) => {
                    assert!(!event_tracking);
                    graph.replay().unwrap();
                    graph.synchronize().unwrap();
                }
                Err(error) => {
                    assert!(event_tracking, "{error}");
                    let text = error_chain(&error).to_string();
                    for words in ["every slice", "event tracking", "disable_event_tracking"] {
                        assert!(text.contains(words), "{text}");
                    }
                }
            }
            drop((prepared, with));
            let mut pool = Pool::<Cuda>::new(Cuda::device(0).unwrap().new_stream().unwrap());
            let scope = pool.scope();
            assert_eq!(scope.try_acquire_filled::<f32, _>(100, 1.0).unwrap().len(), 100);
            simulator.assert_clean();
        }
    }
}

/// Graphs of increasing length, each captured beside the first graph. The refusal contains the
/// advice for this case, and not the advice for an arena that never reuses bytes.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_larger_graph_beside_a_smaller_one() {
    let simulator = start();
    let stream = stream();
    let body = |bytes: usize| {
        move |capture: &Capture<'_>, (): &mut ()| -> Result<(), CaptureError> {
            let (mut first, main) = (capture.acquire::<u8>(bytes)?, capture.main());
            capture.fill_bytes(main, &mut first, 1)?;
            capture.copy(main, &mut capture.acquire::<u8>(bytes)?, &first)
        }
    };
    let session = || CaptureSession::new(&stream).unwrap();
    let probe = |bytes| session().probe(&mut (), body(bytes)).unwrap();
    let (small, large) = (probe(1 << 20), probe(2 << 20));
    let smaller = session().planned(&small).unwrap().capture((), body(1 << 20)).unwrap();
    let error = session().beside(&smaller, &large).map(drop).unwrap_err();
    let shortage = ArenaShortage::MadeForAnotherGraph;
    let exhausted = GraphMemoryError::ArenaExhausted {
        requested: 4 << 20,
        used: 0,
        capacity: 2 << 20,
        shortage,
    };
    assert_eq!(error, CaptureError::Memory(exhausted));
    let text = error.to_string();
    assert!(text.contains("capture the graph with the largest plan first"), "{text}");
    assert!(!text.contains("sum"), "{text}");
    let larger = session().planned(&large).unwrap().capture((), body(2 << 20)).unwrap();
    drop(session().beside(&larger, &small).unwrap().capture((), body(1 << 20)).unwrap());
    simulator.assert_clean();
}
