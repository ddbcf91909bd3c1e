//! Errors of captures on a device: the first failure is returned, and its text names the cause and
//! the cure.

use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaStream, LaunchConfig, PushKernelArg, result};
use pool_cuda::{Cuda, CudaError};
use pool_graph::{
    ArenaPolicy, Capture, CaptureError, CaptureMode, CaptureSession, CapturedGraph, CudaArena,
};
use pool_kernels::elementwise;

use crate::{memory, require_device};

type Result<T = ()> = std::result::Result<T, CaptureError>;

const N: usize = 256;

fn stream() -> Arc<CudaStream> {
    Cuda::device(0).unwrap().context().new_stream().unwrap()
}

fn arena(bytes: u64) -> CudaArena {
    CudaArena::new(memory(), bytes, ArenaPolicy::Monotone).unwrap()
}

/// Captures a body in a new session.
fn captured(
    stream: &Arc<CudaStream>,
    mode: CaptureMode,
    body: impl FnMut(&Capture<'_>, &mut ()) -> Result,
) -> Result<CapturedGraph> {
    let session = CaptureSession::new(stream).unwrap().mode(mode);
    session.prepare(arena(1 << 20)).unwrap().capture((), body)
}

/// The work invalidates the capture, and then fails with its own error. The capture returns this
/// error.
#[test]
#[ignore = "needs a CUDA device"]
fn the_first_failure_is_returned() {
    let _present = require_device();
    let stream = stream();
    let own = || CaptureError::Driver(CudaError::WrongContext { ordinal: 7 });
    let failed = captured(&stream, CaptureMode::ThreadLocal, |capture, ()| {
        let mut view = capture.acquire::<u32>(N)?;
        let uses = [view.write()];
        let work = |stream: &Arc<CudaStream>| -> Result {
            assert!(stream.synchronize().is_err(), "a captured stream cannot be waited for");
            Err(own())
        };
        // SAFETY: the work enqueues nothing.
        unsafe { capture.enqueue(capture.main(), &uses, work) }
    });
    assert_eq!(failed.map(drop).unwrap_err(), own());
    let works = captured(&stream, CaptureMode::ThreadLocal, |capture, ()| {
        capture.fill_bytes(capture.main(), &mut capture.acquire::<u32>(N)?, 1)
    });
    works.unwrap().replay().unwrap();
    stream.synchronize().unwrap();
}

/// The body ignores the error of a call that invalidates its capture.
#[test]
#[ignore = "needs a CUDA device"]
fn an_invalidated_capture_names_the_cause() {
    let _present = require_device();
    let stream = stream();
    for (mode, call, words) in [
        (CaptureMode::ThreadLocal, "allocate", "`cuMemAlloc`"),
        (CaptureMode::Global, "allocate", "`cuMemAlloc`"),
        (CaptureMode::Relaxed, "wait", "wait after the capture"),
    ] {
        let failed = captured(&stream, mode, |capture, ()| {
            let mut view = capture.acquire::<u32>(N)?;
            capture.fill_bytes(capture.main(), &mut view, 0)?;
            if call == "allocate" {
                // SAFETY: the memory is never read.
                assert!(unsafe { result::malloc_sync(512) }.is_err());
            } else {
                assert!(stream.synchronize().is_err());
            }
            capture.fill_bytes(capture.main(), &mut view, 1)
        });
        let error = failed.map(drop).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, CaptureError::Invalidated { .. }), "{mode:?}: {error:?}");
        assert!(text.contains(words), "{mode:?}: {text}");
    }
}

/// A larger graph is captured beside a smaller one, and in an arena that is too small. Each error
/// contains the advice for its arena.
#[test]
#[ignore = "needs a CUDA device"]
fn advice_depends_on_the_arena() {
    let _present = require_device();
    let stream = stream();
    let body = |bytes: usize| {
        move |capture: &Capture<'_>, (): &mut ()| -> Result {
            let (mut first, main) = (capture.acquire::<u8>(bytes)?, capture.main());
            capture.fill_bytes(main, &mut first, 1)?;
            capture.copy(main, &mut capture.acquire::<u8>(bytes)?, &first)
        }
    };
    let session = || CaptureSession::new(&stream).unwrap();
    let probe = |bytes| session().probe(&mut (), body(bytes)).unwrap();
    let (small, large) = (probe(1 << 20), probe(2 << 20));
    let smaller: CapturedGraph =
        session().planned(&small).unwrap().capture((), body(1 << 20)).unwrap();
    let beside = session().beside(&smaller, &large).map(drop).unwrap_err().to_string();
    assert!(beside.contains("capture the graph with the largest plan first"), "{beside}");
    let too_small = session().prepare(arena(1 << 20)).unwrap().capture((), body(2 << 20));
    let too_small = too_small.map(|_: CapturedGraph| ()).unwrap_err().to_string();
    assert!(too_small.contains("2097152"), "{too_small}");
    assert_ne!(beside, too_small);
}

/// A library's call uses a workspace of the capture.
#[test]
#[ignore = "needs a CUDA device"]
fn a_workspace_is_used_in_every_replay() {
    let _present = require_device();
    let stream = stream();
    let module = stream.context().load_module(elementwise::MODULE.text().into()).unwrap();
    let axpy: CudaFunction = module.load_function(elementwise::AXPY.f32).unwrap();
    let mut session = CaptureSession::new(&stream).unwrap();
    let x = session.own(stream.clone_htod(&[2.0_f32; N]).unwrap()).unwrap();
    let y = session.own_mut(stream.alloc_zeros::<f32>(N).unwrap()).unwrap();
    let body = |capture: &Capture<'_>, (): &mut ()| -> Result {
        let main = capture.main();
        let mut workspace = capture.workspace(main, 4 * N)?;
        let (x, mut y) = (capture.owned(&x)?, capture.owned_mut(&y)?);
        let [from, scratch, to] = [x.address(), workspace.address(), y.address()];
        capture.keep(axpy.clone())?;
        let uses = [x.read(), workspace.write(), y.write()];
        let work = |stream: &Arc<CudaStream>| -> Result {
            // SAFETY: both ranges have `4 * N` bytes.
            unsafe { result::memcpy_dtod_async(scratch, from, 4 * N, stream.cu_stream()) }?;
            let (factor, length) = (3.0_f32, N as u64);
            let mut launch = stream.launch_builder(&axpy);
            launch.arg(&factor).arg(&scratch).arg(&to).arg(&length);
            // SAFETY: the arguments match `AXPY`, and both arrays have `N` elements.
            unsafe { launch.launch(LaunchConfig::for_num_elems(256)) }?;
            Ok(())
        };
        // SAFETY: the work uses only the listed views, and the graph keeps the module.
        unsafe { capture.enqueue(main, &uses, work) }
    };
    let probe = session.probe::<_, CaptureError>(&mut (), body).unwrap();
    let mut graph: CapturedGraph = session.planned(&probe).unwrap().capture((), body).unwrap();
    for replay in 1..=10_u8 {
        graph.replay().unwrap();
        let mut found = [0.0_f32; N];
        graph.read(&y, &mut found).unwrap();
        assert_eq!(found, [6.0 * f32::from(replay); N]);
    }
}
