//! Workspaces of libraries, with a stand-in for cuBLAS: its handle has a stream and a workspace,
//! setting the stream removes the workspace, and a call without one allocates.

use std::cell::Cell;
use std::sync::Arc;

use cuda_sim_control::Settings;
use cudarc::driver::{CudaFunction, CudaStream, LaunchConfig, PushKernelArg, result};
use pool_cuda::Cuda;
use pool_graph::{
    ArenaPolicy, Capture, CaptureError, CaptureSession, CapturedGraph, CudaArena, GraphMemoryBlock,
};
use pool_kernels::elementwise;

use crate::common::{memory, pool};
use crate::support::{function, orders, start, start_anew};

const N: usize = 256;
const BYTES: usize = 4 * N;

/// A handle of the library.
struct Library {
    axpy: CudaFunction,
    workspace: Cell<Option<(u64, usize)>>,
}

impl Library {
    fn new() -> Self {
        let context = Cuda::device(0).unwrap().context().clone();
        let axpy = function(&context, elementwise::MODULE, elementwise::AXPY.f32);
        Self { axpy, workspace: Cell::default() }
    }

    fn set_stream(&self) {
        self.workspace.set(None);
    }

    fn set_workspace(&self, address: u64, bytes: usize) {
        self.workspace.set(Some((address, bytes)));
    }

    /// Computes `to += factor * from`, through the workspace.
    fn add(
        &self,
        stream: &Arc<CudaStream>,
        factor: f32,
        [from, to]: [u64; 2],
    ) -> Result<(), CaptureError> {
        let handle = stream.cu_stream();
        let own = self.workspace.get().filter(|(_, bytes)| *bytes >= BYTES);
        let (scratch, length) = match own {
            Some((address, _)) => (address, N as u64),
            // SAFETY: it is freed in this stream, below.
            None => (unsafe { result::malloc_async(handle, BYTES) }?, N as u64),
        };
        // SAFETY: both have `BYTES` bytes, and the stream orders all three.
        unsafe { result::memcpy_dtod_async(scratch, from, BYTES, handle) }?;
        let mut launch = stream.launch_builder(&self.axpy);
        launch.arg(&factor).arg(&scratch).arg(&to).arg(&length);
        // SAFETY: the parameters are those of `AXPY`, and both have `N` elements.
        unsafe { launch.launch(LaunchConfig::for_num_elems(256)) }?;
        if own.is_none() {
            // SAFETY: its users are earlier in the stream.
            unsafe { result::free_async(scratch, handle) }?;
        }
        Ok(())
    }
}

/// Computes `y += 2 x` on the session's stream and `y += 3 x` on its branch, by one handle with one
/// workspace. Temporaries are acquired and dropped around the calls.
fn body(
    capture: &Capture<'_>,
    library: &Library,
    [x, y]: &[GraphMemoryBlock; 2],
    is_set: bool,
) -> Result<(), CaptureError> {
    let main = capture.main();
    let mut workspace = capture.workspace(main, BYTES)?;
    assert_eq!((workspace.bytes(), workspace.address() % 256), (BYTES, 0));
    let (address, bytes) = (workspace.address(), workspace.bytes());
    let (x, mut y) = (capture.block::<f32>(x)?, capture.block::<f32>(y)?);
    let places = [x.address(), y.address()];
    for (stream, factor) in [(main, 2.0), (capture.branch(0)?, 3.0)] {
        let mut temporary = capture.acquire::<f32>(N)?;
        capture.fill_bytes(main, &mut temporary, 0xFF)?;
        drop(temporary);
        let uses = [workspace.write(), x.read(), y.write()];
        let call = |stream: &Arc<CudaStream>| {
            library.set_stream();
            if is_set {
                library.set_workspace(address, bytes);
            }
            library.add(stream, factor, places)
        };
        // SAFETY: the library reads and writes these three, on this stream.
        unsafe { capture.enqueue(stream, &uses, call) }?;
    }
    drop(workspace);
    // The handle still has the address, so later temporaries have other bytes.
    let mut after = capture.acquire::<f32>(N)?;
    let is_apart =
        after.address() >= address + bytes as u64 || after.address() + 4 * N as u64 <= address;
    assert!(is_apart || capture.is_dry());
    capture.fill_bytes(main, &mut after, 0xFF)?;
    let uses = [x.read(), y.write()];
    let call = |stream: &Arc<CudaStream>| library.add(stream, 1.0, places);
    // SAFETY: the workspace is the handle's to the end of the graph, and this stream is ordered
    // after its last use.
    unsafe { capture.enqueue(capture.branch(0)?, &uses, call) }
}

fn session(
    blocks: &[GraphMemoryBlock; 2],
    pool: &pool_graph::CUDAGraphMemoryPool,
) -> CaptureSession {
    let [x, y] = blocks;
    let streams = [0; 2].map(|_| crate::common::stream());
    let session = CaptureSession::new(&streams[0]).unwrap().branch(&streams[1]).unwrap();
    session.lease(pool.lease(&[x.id(), y.id()]).unwrap())
}

fn check(graph: &mut CapturedGraph<()>, [x, y]: &[GraphMemoryBlock; 2]) {
    let ones: Vec<f32> = (0_u8..=255).map(f32::from).collect();
    graph.write(x, &ones).unwrap();
    graph.write(y, &[1.0_f32; N]).unwrap();
    for replay in 1_u8..=3 {
        graph.replay().unwrap();
        let mut found = [0.0_f32; N];
        graph.read(y, &mut found).unwrap();
        for (one, found) in ones.iter().zip(found) {
            assert_eq!(found, 1.0 + 6.0 * f32::from(replay) * one);
        }
    }
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_library_uses_a_workspace_of_the_graph() {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, Settings::default(), seed);
        let (library, pool) = (Library::new(), pool());
        let blocks = [0; 2].map(|_| pool.allocate(BYTES as u64).unwrap());
        let body = |capture: &Capture<'_>, (): &mut ()| body(capture, &library, &blocks, true);
        let probe = session(&blocks, &pool).probe(&mut (), body).unwrap();
        let planned = session(&blocks, &pool).planned(&probe).unwrap();
        check(&mut planned.capture((), body).unwrap(), &blocks);
        let arena = CudaArena::new(memory(), 1 << 16, ArenaPolicy::Monotone).unwrap();
        let prepared = session(&blocks, &pool).prepare(arena).unwrap();
        check(&mut prepared.capture((), body).unwrap(), &blocks);
        simulator.assert_clean();
    }
}

/// The bytes of a workspace are not reused: the footprint has them beside the largest temporary.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_workspace_is_in_the_footprint_to_the_end() {
    let simulator = start();
    start_anew(simulator, Settings::default(), 0);
    let (library, pool) = (Library::new(), pool());
    let blocks = [0; 2].map(|_| pool.allocate(BYTES as u64).unwrap());
    let body = |capture: &Capture<'_>, (): &mut ()| body(capture, &library, &blocks, true);
    let probe = session(&blocks, &pool).probe(&mut (), body).unwrap();
    let footprint = probe.footprint();
    assert_eq!(
        (footprint.peak, footprint.sum),
        (2 * BYTES as u64, 4 * BYTES as u64),
        "{footprint:?}"
    );
    simulator.assert_clean();
}

/// Without the workspace the library allocates in its call, and the graph is refused with the reason.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_library_without_a_workspace_is_refused() {
    let simulator = start();
    start_anew(simulator, Settings::default(), 0);
    let (library, pool) = (Library::new(), pool());
    let blocks = [0; 2].map(|_| pool.allocate(BYTES as u64).unwrap());
    let arena = CudaArena::new(memory(), 1 << 16, ArenaPolicy::Monotone).unwrap();
    let prepared = session(&blocks, &pool).prepare(arena).unwrap();
    let made: Result<CapturedGraph<()>, CaptureError> =
        prepared.capture((), |capture, ()| body(capture, &library, &blocks, false));
    let error = made.map(drop).unwrap_err();
    assert!(matches!(error, CaptureError::MemoryNodes { nodes: 6 }), "{error:?}");
    assert!(error.to_string().contains("workspace"), "{error}");
    simulator.assert_clean();
}
