//! Foreign code runs in the host's allocator: a hook creates pools, acquires, lends, stores shapes,
//! copies and drops, on the same thread. It runs at the first, second, third … allocation or free
//! of a program, until the program ends first. There is no deadlock, no double borrow, and no use
//! of memory before earlier uses have ended.
//!
//! The test needs its own process: `cargo xtask sim-test` runs it. A test that hangs is killed, and
//! counts as failed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failing test panics")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use cuda_sim_control::{Settings, Simulator};
use cudarc::driver::sys::CUgraphInstantiate_flags;
use cudarc::driver::sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED as RELAXED;
use cudarc::driver::{CudaStream, DevicePtrMut};
use pool_core::{Pool, PoolError, PoolView, PoolViewMut, Scope};
use pool_cuda::{
    AcquireShaped, Cuda, CudaDevice, CudaError, DeviceStream, record_use, register_stream,
};
use pool_graph::{
    ArenaPolicy, CUDAGraphMemoryPool, Capture, CaptureError, CaptureMode, CaptureSession,
    CudaArena, DeviceMemory, GraphMemoryError, GraphPoolConfig,
};

/// The number of elements in each array.
const N: usize = 100;

/// The system allocator with a hook.
struct Hooked;

thread_local! {
    /// The number of allocations and frees until the hook runs; `None` if it is disabled.
    static LEFT: Cell<Option<u64>> = const { Cell::new(None) };
    /// The result of the hook; `None` if it has not run.
    static ANSWER: Cell<Option<bool>> = const { Cell::new(None) };
    /// The hook.
    static HOOK: Cell<fn() -> Ended> = const { Cell::new(|| Ok(())) };
    /// A scope that the hook shares with the program.
    static SCOPE: Cell<Option<&'static Scope<'static, Cuda>>> = const { Cell::new(None) };
}

// SAFETY: all calls go to the system allocator, and the hook does not unwind.
unsafe impl GlobalAlloc for Hooked {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        one_more();
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        one_more();
        // SAFETY: the caller upholds the contract.
        unsafe { System.dealloc(memory, layout) };
    }
}

#[global_allocator]
static HOOKED: Hooked = Hooked;

/// Counts one allocation or free. The simulated driver is a shared library with its own allocator,
/// so its calls do not reach this function.
fn one_more() {
    match LEFT.get() {
        None => {}
        Some(0) => {
            LEFT.set(None);
            let ended = catch_unwind(AssertUnwindSafe(HOOK.get()));
            ANSWER.set(Some(matches!(ended, Ok(Ok(())))));
        }
        Some(left) => LEFT.set(Some(left - 1)),
    }
}

type Ended = Result<(), PoolError<CudaError>>;

fn wrapped(source: CudaError) -> PoolError<CudaError> {
    PoolError::Backend { operation: "run the script", source }
}

fn check(holds: bool) -> Ended {
    if holds { Ok(()) } else { Err(wrapped(CudaError::LengthMismatch { from: 0, to: N })) }
}

fn another_stream(device: &CudaDevice) -> Result<Arc<CudaStream>, PoolError<CudaError>> {
    let made = device.context().new_stream();
    made.map_err(|error| wrapped(CudaError::Call { call: "cuStreamCreate", code: error.into() }))
}

/// Runs all operations of views, with one other stream that the pool knows and one that it does not
/// know.
fn views(scope: &Scope<'_, Cuda>, [known, unknown]: &[Arc<CudaStream>; 2]) -> Ended {
    let mut view = scope.try_acquire_filled(N, 1.5_f64)?;
    let mut more = scope.try_acquire_from(&[3_u8; N])?;
    record_use(&view, known).map_err(wrapped)?;
    check(more.device_ptr_mut(unknown).0 != 0)?;
    let shaped = scope.try_acquire_shaped::<f64>(&[N, 1])?;
    let (mut array, _) = shaped.array.into_parts();
    array.copy_from(view.as_view()).map_err(wrapped)?;
    check(array.copy_to_vec().map_err(wrapped)? == [1.5; N])?;
    view.copy_from_host(&[2.5; N]).map_err(wrapped)?;
    let _for_writing = view.on(known).map_err(wrapped)?;
    check(view.as_view().copy_to_vec().map_err(wrapped)? == [2.5; N])?;
    more.fill_with_zeros().map_err(wrapped)?;
    check(more.copy_to_vec().map_err(wrapped)? == [0; N])
}

/// Opens the device and creates pools, with short-lived streams and deferred frees.
fn pools() -> Ended {
    pools_with(1)
}

/// The same without unknown streams, because during a capture a wait for unknown streams fails and
/// invalidates the capture.
fn pools_and_known_streams() -> Ended {
    pools_with(2)
}

fn pools_with(known: usize) -> Ended {
    let device = Cuda::device(0).map_err(wrapped)?;
    let streams = [another_stream(&device)?, another_stream(&device)?];
    streams[..known].iter().for_each(register_stream);
    let own = another_stream(&device)?;
    let context = DeviceStream::new(&device, Arc::clone(&own)).map_err(wrapped)?;
    let mut pool = Pool::<Cuda>::with_config(context, Default::default())?;
    for _ in 0..2 {
        let mut outer = pool.scope();
        views(&outer, &streams)?;
        views(&outer.scope(), &streams)?;
    }
    pool.trim();
    views(&pool.scope(), &streams)?;
    own.begin_capture(RELAXED).unwrap();
    pool.trim();
    drop(pool);
    drop(own.end_capture(CUgraphInstantiate_flags(0)).unwrap());
    for_thread(&device)?;
    Cuda::retry_deferred_frees();
    Ok(())
}

/// Uses pools on the thread's own stream, which is replaced during this use.
fn for_thread(device: &CudaDevice) -> Ended {
    for _ in 0..2 {
        let context = DeviceStream::for_thread().map_err(wrapped)?;
        let pool = &mut Pool::<Cuda>::with_config(context, Default::default())?;
        let view = pool.scope().try_acquire_filled(N, 1_u8)?;
        check(view.copy_to_vec().map_err(wrapped)? == [1; N])?;
        DeviceStream::set_for_thread(another_stream(device)?).map_err(wrapped)?;
    }
    Ok(())
}

/// Runs a program repeatedly, each time on a new thread and with one run of the hook. Each time the
/// hook runs one allocation or free later, until the program ends first. Returns how often the hook
/// has run.
fn at_every_allocation(simulator: Simulator, hook: fn() -> Ended, program: fn() -> Ended) -> u64 {
    for nth in 0.. {
        assert!(simulator.reset(Settings::default()));
        cudarc::driver::result::init().unwrap();
        let run = move || {
            HOOK.set(hook);
            if nth == 0 {
                // cudarc loads the driver's functions at their first use, which has happened after
                // this line.
                program().and(hook()).unwrap();
            }
            LEFT.set(Some(nth));
            let ended = catch_unwind(AssertUnwindSafe(program));
            LEFT.set(None);
            (ended.map_err(|_| "it panicked"), ANSWER.get())
        };
        let (ended, answer) = thread::spawn(run).join().unwrap();
        assert!(matches!(ended, Ok(Ok(()))), "with the hook in allocation {nth}: {ended:?}");
        assert_ne!(answer, Some(false), "the hook in allocation {nth}");
        assert_eq!(Cuda::retry_deferred_frees(), 0, "allocation {nth}");
        simulator.assert_clean();
        if answer.is_none() {
            return nth;
        }
    }
    unreachable!("a program ends")
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_hook_of_the_allocator_makes_pools_and_drops_them() {
    let simulator = Simulator::start(Settings::default()).unwrap();
    let times = at_every_allocation(simulator, pools_and_known_streams, pools);
    simulator.assert_no_leaks();
    println!("FIGURE: a hook ran in each of {times} allocations and frees");
    assert!(times > 100, "{times}");
}

/// The hook uses the same scope as the program, and therefore the same pool and streams.
fn within() -> Ended {
    let Some(scope) = SCOPE.get() else { return Ok(()) };
    let device = scope.context().device();
    views(scope, &[another_stream(device)?, another_stream(device)?])
}

/// Uses views of a leaked pool, so that a hook can access the pool. The acquire has ended before
/// the hook may run.
fn views_of_a_leaked_pool() -> Ended {
    let hook = LEFT.take();
    let device = Cuda::device(0).map_err(wrapped)?;
    let streams = [another_stream(&device)?, another_stream(&device)?];
    register_stream(&streams[0]);
    let pool: &'static mut Pool<Cuda> =
        Box::leak(Box::new(Pool::new(device.new_stream().map_err(wrapped)?)));
    let scope: &'static Scope<'static, Cuda> = Box::leak(Box::new(pool.scope()));
    let mut view = scope.try_acquire_filled(N, 1.5_f64)?;
    let mut other = scope.try_acquire_filled(N, [1.5_f64, 2.5, 3.5])?;
    let mut wide = scope.try_acquire_filled(80_000, 3_u64)?;
    SCOPE.set(Some(scope));
    LEFT.set(hook);
    // Several streams are in use at the same time, so that the pool needs more space for its notes.
    let many: Vec<_> = (0..5).map(|_| another_stream(&device)).collect::<Result<_, _>>()?;
    for stream in many.iter().chain(&streams) {
        record_use(&view, stream).map_err(wrapped)?;
        check(other.device_ptr_mut(stream).0 != 0)?;
        view.copy_from_host(&[2.5; N]).map_err(wrapped)?;
        other.fill_with_value([4.5; 3]).map_err(wrapped)?;
        check(view.as_view().copy_to_vec().map_err(wrapped)? == [2.5; N])?;
        check(other.as_view().copy_to_vec().map_err(wrapped)? == [[4.5; 3]; N])?;
    }
    wide.copy_from_host(&[7; 80_000]).map_err(wrapped)?;
    check(wide.copy_to_vec().map_err(wrapped)? == [7; 80_000])?;
    scope.context().join_other_streams().map_err(wrapped)?;
    let hook = LEFT.take();
    SCOPE.set(None);
    LEFT.set(hook);
    Ok(())
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_hook_of_the_allocator_uses_the_pool_that_is_used() {
    let simulator = Simulator::start(Settings::default()).unwrap();
    let times = at_every_allocation(simulator, within, views_of_a_leaked_pool);
    println!("FIGURE: a hook ran in each of {times} allocations and frees");
    assert!(times > 10, "{times}");
}

fn captured(error: impl std::fmt::Debug) -> PoolError<CudaError> {
    eprintln!("{error:?}");
    wrapped(CudaError::Capturing { operation: "capture" })
}

/// Creates a session and graphs, which are captured, updated, replayed, written and read. The
/// graphs use blocks, their own arena, and an arena installed on another stream. One graph is
/// dropped during a capture.
fn graphs() -> Ended {
    let device = Cuda::device(0).map_err(wrapped)?;
    let (stream, other) = (another_stream(&device)?, another_stream(&device)?);
    let memory = DeviceMemory::new(&device);
    let config = GraphPoolConfig { initial: 0, maximum: u64::MAX };
    let pool = CUDAGraphMemoryPool::with_config(memory.clone(), config);
    let blocks = [pool.allocate(4096).map_err(captured)?, pool.allocate(4096).map_err(captured)?];
    let lease = pool.lease(&blocks.map(|block| block.id())).map_err(captured)?;
    let arena = || CudaArena::new(memory.clone(), 1 << 16, ArenaPolicy::Linear).map_err(captured);
    let installed = arena()?;
    installed.install(&other).map_err(captured)?;
    let found = CudaArena::on(&other).ok_or(CaptureError::ForeignView).map_err(captured)?;
    let region = found.allocate(100).map_err(captured)?;
    let _ended = found.deallocate(region.address());
    installed.clear(&other).map_err(captured)?;
    let body = |capture: &Capture<'_>, value: &mut u8| {
        let mut scratch = capture.acquire::<u8>(4096)?;
        capture.fill_bytes(capture.main(), &mut scratch, *value)?;
        capture.copy(capture.main(), &mut capture.block(&blocks[0])?, &scratch)
    };
    let session = CaptureSession::new(&stream).map_err(captured)?.mode(CaptureMode::Relaxed);
    let prepared = session.lease(lease).prepare(arena()?).map_err(captured)?;
    let mut graph = prepared.capture(1, body).map_err(captured)?;
    graph.replay().map_err(captured)?;
    *graph.state().map_err(captured)? = 2;
    graph.update(body).map_err(captured)?;
    graph.replay().map_err(captured)?;
    graph.write(&blocks[1], &[3_u8; 4096]).map_err(captured)?;
    let mut read = [[0_u8; 100]; 2];
    for (block, read) in blocks.iter().zip(&mut read) {
        graph.read(block, read).map_err(captured)?;
    }
    check(read == [[2; 100], [3; 100]])?;
    let mut kept = Some(graph);
    let ending = CaptureSession::new(&other).map_err(captured)?.mode(CaptureMode::Relaxed);
    let ending = ending.prepare(arena()?).map_err(captured)?;
    let none = |_: &Capture<'_>, kept: &mut Option<_>| {
        drop(kept.take());
        Ok::<(), CaptureError>(())
    };
    let empty = ending.capture(kept.take(), none).map_err(captured)?;
    drop(empty);
    drop((prepared, ending));
    for block in blocks {
        match pool.deallocate(block.id()) {
            // A graph that is dropped during a capture keeps its blocks until the capture has
            // ended.
            Ok(()) | Err(GraphMemoryError::LeasedBlock { .. }) => {}
            Err(error) => return Err(captured(error)),
        }
    }
    pool.trim().map_err(captured).map(drop)
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_hook_of_the_allocator_captures_graphs() {
    let simulator = Simulator::start(Settings::default()).unwrap();
    let times = at_every_allocation(simulator, graphs, graphs);
    simulator.assert_no_leaks();
    println!("FIGURE: a hook ran in each of {times} allocations and frees");
    assert!(times > 100, "{times}");
}
