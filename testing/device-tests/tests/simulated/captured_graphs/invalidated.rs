//! Calls that invalidate a capture, in each mode and with cudarc's event tracking enabled and
//! disabled, and the resulting errors of the pool. If a body returns the error of the call, the
//! capture returns that error, whose text names the cause. If a body continues, the text of
//! `Invalidated` lists the cause among the possible ones.

use std::sync::Arc;

use cuda_sim_control::Settings;
use cudarc::driver::{CudaContext, CudaEvent, CudaSlice, CudaStream, DriverError, result};
use pool_cuda::{Cuda, CudaError};
use pool_graph::{CaptureError, CaptureMode, CaptureSession};

use crate::common::{Made, NO_FLAGS, arena};
use crate::support::{start, start_anew};

use CaptureMode::{Global, Relaxed, ThreadLocal};

const MODES: [CaptureMode; 3] = [Global, ThreadLocal, Relaxed];

/// A call in the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    /// Read a slice that was created before the capture.
    UseSlice,
    /// Read a slice of another stream.
    UseSliceOfOtherStream,
    AllocateSlice,
    DropSlice,
    AllocatePlain,
    FreePlain,
    FreePlainOnOtherThread,
    WaitForStream,
    WaitForContext,
    WaitForEarlierEvent,
    EndByHand,
}

const CALLS: [Call; 11] = [
    Call::UseSlice,
    Call::UseSliceOfOtherStream,
    Call::AllocateSlice,
    Call::DropSlice,
    Call::AllocatePlain,
    Call::FreePlain,
    Call::FreePlainOnOtherThread,
    Call::WaitForStream,
    Call::WaitForContext,
    Call::WaitForEarlierEvent,
    Call::EndByHand,
];

/// The objects that were created before the capture.
struct Before {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    slice: Option<CudaSlice<f32>>,
    target: CudaSlice<f32>,
    of_other_stream: CudaSlice<f32>,
    event: CudaEvent,
    plain: u64,
}

impl Before {
    fn new(event_tracking: bool) -> Self {
        let context = Cuda::device(0).unwrap().context().clone();
        let (stream, other) = (context.new_stream().unwrap(), context.new_stream().unwrap());
        let zeros = |stream: &Arc<CudaStream>| stream.alloc_zeros::<f32>(100).unwrap();
        let (slice, target, of_other_stream) =
            (Some(zeros(&stream)), zeros(&stream), zeros(&other));
        let event = other.record_event(None).unwrap();
        // SAFETY: the memory is never read.
        let plain = unsafe { result::malloc_sync(512) }.unwrap();
        if !event_tracking {
            // SAFETY: all work is on one stream, or has ended by then.
            unsafe { context.disable_event_tracking() };
        }
        context.synchronize().unwrap();
        Self { context, stream, slice, target, of_other_stream, event, plain }
    }

    fn make(&mut self, call: Call) -> Result<(), DriverError> {
        let stream = &self.stream;
        match call {
            Call::UseSlice => {
                let slice = self.slice.as_ref().unwrap();
                stream.memcpy_dtod(slice, &mut self.target)
            }
            Call::UseSliceOfOtherStream => {
                stream.memcpy_dtod(&self.of_other_stream, &mut self.target)
            }
            Call::AllocateSlice => stream.alloc_zeros::<f32>(100).map(std::mem::forget),
            Call::DropSlice => {
                drop(self.slice.take());
                self.context.check_err()
            }
            // SAFETY: the memory is never read.
            Call::AllocatePlain => unsafe { result::malloc_sync(512) }.map(drop),
            Call::FreePlain => self.free_plain(),
            Call::FreePlainOnOtherThread => {
                std::thread::scope(|scope| scope.spawn(|| self.free_plain()).join().unwrap())
            }
            Call::WaitForStream => stream.synchronize(),
            Call::WaitForContext => self.context.synchronize(),
            Call::WaitForEarlierEvent => stream.wait(&self.event),
            Call::EndByHand => stream.end_capture(NO_FLAGS).map(drop),
        }
    }

    fn free_plain(&self) -> Result<(), DriverError> {
        self.context.bind_to_thread()?;
        // SAFETY: the memory was allocated, and no work uses it.
        unsafe { result::free_sync(self.plain) }
    }
}

/// Captures a body that makes a call, and then continues or returns the call's error.
fn capture(
    before: &mut Before,
    mode: CaptureMode,
    call: Call,
    goes_on: bool,
) -> Result<(), CaptureError> {
    let session = CaptureSession::new(&before.stream).unwrap().mode(mode);
    let made: Made = session.prepare(arena()).unwrap().capture((), |capture, ()| {
        let mut view = capture.acquire::<f32>(256)?;
        capture.fill_bytes(capture.main(), &mut view, 0)?;
        let made = before.make(call);
        if !goes_on {
            made?;
        }
        capture.fill_bytes(capture.main(), &mut view, 1)
    });
    made.map(drop)
}

/// The outcome of a call.
#[derive(Clone, Copy)]
enum Outcome {
    /// The capture continues.
    Graph,
    /// The capture is invalidated. If the body continues, the error is `Invalidated` with these
    /// words. If the body returns the call's error, the error has this code and these words.
    Invalidated(&'static str, (u32, &'static str)),
    /// The call enqueued work on the stream that does not belong to the graph.
    ForeignWork,
}

fn expected(call: Call, mode: CaptureMode, event_tracking: bool) -> Outcome {
    use Outcome::{ForeignWork, Graph, Invalidated};
    let earlier = (905, "wait for work from before the capture");
    // The waits fail in a cudarc guard, so the next call is the first that can return an error.
    let silent = (901, "a cudarc slice was used, allocated or dropped");
    let not_permitted = (900, "wait, allocate and free before or after the capture");
    match call {
        Call::UseSlice | Call::UseSliceOfOtherStream if event_tracking => {
            Invalidated("a cudarc slice from before the capture was used", silent)
        }
        // cudarc waits for events that were never recorded. Other answers refuse such a wait.
        Call::AllocateSlice if !Settings::default().other_answers => ForeignWork,
        Call::AllocateSlice | Call::DropSlice if event_tracking => {
            Invalidated("a cudarc slice was allocated or dropped", silent)
        }
        // During a capture, the driver refuses to free other memory. The call's error is the error
        // of the slice.
        Call::DropSlice => Graph,
        Call::UseSlice | Call::UseSliceOfOtherStream | Call::AllocateSlice => ForeignWork,
        Call::AllocatePlain | Call::FreePlain if mode == Relaxed => Graph,
        Call::FreePlainOnOtherThread if mode != Global => Graph,
        Call::AllocatePlain | Call::FreePlain | Call::FreePlainOnOtherThread => Invalidated(
            "called `cuMemAlloc`, `cuMemFree` or another call that may wait",
            not_permitted,
        ),
        Call::WaitForStream | Call::WaitForContext => {
            Invalidated("was waited for or queried: wait after the capture", not_permitted)
        }
        Call::WaitForEarlierEvent => {
            Invalidated("an event from before the capture: wait for that event before", earlier)
        }
        Call::EndByHand => Invalidated(
            "begun or ended without the session",
            (903, "let the session end the capture"),
        ),
    }
}

/// Checks the error of a body that continues after the call.
fn check_going_on(found: &Result<(), CaptureError>, outcome: Outcome, what: &str) {
    match (outcome, found) {
        (Outcome::Graph, Ok(()))
        | (Outcome::ForeignWork, Err(CaptureError::ForeignWork { .. })) => {}
        (Outcome::Invalidated(words, _), Err(error @ CaptureError::Invalidated { .. })) => {
            assert!(error.to_string().contains(words), "{what}: {error}");
        }
        _ => panic!("{what}: {found:?}"),
    }
}

/// Checks the error of a body that returns the error of the call.
fn check_returning(found: &Result<(), CaptureError>, outcome: Outcome, what: &str) {
    match (outcome, found) {
        (Outcome::Graph, Ok(()))
        | (Outcome::ForeignWork, Err(CaptureError::ForeignWork { .. })) => {}
        // A free that failed in a destructor is not part of the capture.
        (Outcome::Graph, Err(CaptureError::Driver(error))) => {
            assert_eq!(error.code().unwrap().number(), 1, "{what}: {error}");
        }
        (
            Outcome::Invalidated(_, (code, words)),
            Err(CaptureError::Driver(error @ CudaError::Call { .. })),
        ) => {
            assert_eq!(error.code().unwrap().number(), code, "{what}: {error}");
            assert!(error.to_string().contains(words), "{what}: {error}");
        }
        _ => panic!("{what}: {found:?}"),
    }
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn each_cause_in_each_mode_with_and_without_event_tracking() {
    let simulator = start();
    let mut seed = 0;
    for event_tracking in [true, false] {
        for mode in MODES {
            for call in CALLS {
                seed += 1;
                start_anew(simulator, Settings::default(), seed);
                let outcome = expected(call, mode, event_tracking);
                let what = format!("{call:?}, {mode:?}, event tracking {event_tracking}");
                let found = capture(&mut Before::new(event_tracking), mode, call, true);
                check_going_on(&found, outcome, &what);
                let found = capture(&mut Before::new(event_tracking), mode, call, false);
                check_returning(&found, outcome, &what);
                simulator.assert_clean();
            }
        }
    }
}

/// cudarc stores the error of a destructor, and the next unrelated call returns it. If the capture
/// caused the error, the error is cleared when the capture ends.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn errors_of_destructors_end_with_the_capture() {
    let simulator = start();
    let mut before = Before::new(true);
    let session = CaptureSession::new(&before.stream).unwrap();
    let slice = before.slice.take();
    let made: Made = session.prepare(arena()).unwrap().capture((), |_, ()| {
        drop(slice);
        Ok(())
    });
    assert!(matches!(made, Err(CaptureError::Driver(_) | CaptureError::Invalidated { .. })));
    drop(before.stream.alloc_zeros::<f32>(100).unwrap());

    // An error with another cause stays.
    let other = DriverError(cudarc::driver::sys::CUresult::CUDA_ERROR_NOT_FOUND);
    before.context.record_err::<()>(Err(other));
    let session = CaptureSession::new(&before.stream).unwrap();
    let made: Made = session.prepare(arena()).unwrap().capture((), |_, ()| {
        // SAFETY: the stream is live.
        assert!(unsafe { result::stream::end_capture(before.stream.cu_stream()) }.is_err());
        Ok(())
    });
    assert!(made.is_err());
    assert_eq!(before.context.check_err(), Err(other));
    simulator.assert_clean();
}
