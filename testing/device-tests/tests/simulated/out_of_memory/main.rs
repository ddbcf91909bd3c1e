//! Host memory is exhausted at the n-th allocation, or from it on, for n = 0, 1, 2, 3 … until a
//! program succeeds. Each failure is a typed error and never an abort, and all objects are usable
//! afterwards. The documented exceptions are cudarc's internal allocations, and the creation of
//! devices and their streams.
//!
//! The test needs its own process: `cargo xtask sim-test` runs it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a failing test panics")]

mod allocator;

use std::sync::Arc;

use allocator::{with_memory, without_memory};
use cuda_sim_control::{Settings, Simulator};
use cudarc::driver::sys::CUgraphInstantiate_flags;
use cudarc::driver::sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED as RELAXED;
use cudarc::driver::{CudaStream, DevicePtrMut};
use pool_core::{Compaction, Pool, PoolConfig, PoolError, PoolView, PoolViewMut, error_chain};
use pool_cuda::{
    AcquireShaped, Cuda, CudaDevice, CudaError, DeviceStream, record_use, register_stream,
};
use pool_graph::{
    ArenaPolicy, CUDAGraphMemoryPool, Capture, CaptureError, CaptureMode, CaptureSession,
    CapturedGraph, CudaArena, DeviceMemory, GraphMemoryBlock, GraphMemoryError, GraphPoolConfig,
    StagingConfig, StagingPool,
};

const N: usize = 100;

/// The common type for all errors.
#[derive(Debug)]
enum Failure {
    Pool(PoolError<CudaError>),
    Cuda(CudaError),
    Memory(GraphMemoryError<CudaError>),
    Capture(CaptureError),
}

type Ended = Result<(), Failure>;

impl From<PoolError<CudaError>> for Failure {
    fn from(error: PoolError<CudaError>) -> Self {
        Self::Pool(error)
    }
}

impl From<CudaError> for Failure {
    fn from(error: CudaError) -> Self {
        Self::Cuda(error)
    }
}

impl From<GraphMemoryError<CudaError>> for Failure {
    fn from(error: GraphMemoryError<CudaError>) -> Self {
        Self::Memory(error)
    }
}

impl From<CaptureError> for Failure {
    fn from(error: CaptureError) -> Self {
        Self::Capture(error)
    }
}

impl Failure {
    /// Returns the size of the failed request in bytes.
    fn requested(&self) -> Option<usize> {
        let of_cuda = |error: &CudaError| match *error {
            CudaError::Bookkeeping { requested } => Some(requested),
            _ => None,
        };
        match self {
            Self::Pool(PoolError::Bookkeeping { requested }) => Some(*requested),
            Self::Pool(
                PoolError::OutOfMemory { source, .. } | PoolError::Backend { source, .. },
            ) => of_cuda(source),
            Self::Cuda(source) | Self::Capture(CaptureError::Driver(source)) => of_cuda(source),
            // This is the entry in the deferred frees that the source creates for each allocation.
            Self::Memory(GraphMemoryError::OutOfMemory { source, .. })
            | Self::Capture(CaptureError::Memory(GraphMemoryError::OutOfMemory {
                source, ..
            })) => of_cuda(source),
            Self::Memory(GraphMemoryError::Bookkeeping { requested })
            | Self::Capture(CaptureError::Memory(GraphMemoryError::Bookkeeping { requested })) => {
                Some(*requested)
            }
            _ => None,
        }
    }
}

/// Runs a program on new objects for every n, in both ways, each time on a separate thread. Then
/// runs a check with memory available.
fn sweep<G>(
    simulator: Simulator,
    name: &str,
    ground: impl Fn(&CudaDevice) -> G + Sync,
    program: impl Fn(&mut G) -> Ended + Sync,
    after: impl Fn(G) + Sync,
) {
    for for_good in [false, true] {
        let mut refusals = 0;
        for nth in 0.. {
            assert!(simulator.reset(Settings::default()));
            cudarc::driver::result::init().unwrap();
            let once = || {
                let device = Cuda::device(0).unwrap();
                let mut on = ground(&device);
                let (ended, plan) = without_memory(nth, for_good, || program(&mut on));
                after(on);
                (ended, plan)
            };
            // The thread is joined, so that its thread-local values are also dropped.
            let (ended, plan) = std::thread::scope(|scope| scope.spawn(once).join().unwrap());
            if let Err(failure) = &ended {
                let requested = failure.requested().filter(|_| plan.refused > 0);
                assert!(requested.is_some_and(|bytes| bytes > 0), "{name}, {nth}: {failure:?}");
            }
            assert_eq!(Cuda::retry_deferred_frees(), 0, "{name}, {nth}");
            simulator.assert_clean();
            simulator.assert_no_leaks();
            refusals += plan.refused.min(1);
            if plan.refused + plan.excepted == 0 {
                ended.unwrap();
                break;
            }
        }
        println!("FIGURE: {name}: {refusals} allocations refused, for good: {for_good}");
    }
}

fn another_stream(device: &CudaDevice) -> Arc<CudaStream> {
    device.context().new_stream().unwrap()
}

/// Returns a pool, one stream that the pool knows, and one that it does not know.
fn pool_and_streams(device: &CudaDevice) -> (Pool<Cuda>, [Arc<CudaStream>; 2]) {
    let streams = [another_stream(device), another_stream(device)];
    (Pool::new(device.new_stream().unwrap()), streams)
}

fn use_pool(pool: &mut Pool<Cuda>) {
    let scope = pool.scope();
    let (left, right) = (scope.acquire_filled(N, 1_u8), scope.acquire_filled(N, [2_u8; 3]));
    assert_eq!(
        (left.copy_to_vec().unwrap(), right.copy_to_vec().unwrap()),
        (vec![1; N], vec![[2; 3]; N])
    );
    let _pending = scope.context().take_pending_error();
}

type WithStreams = (Pool<Cuda>, [Arc<CudaStream>; 2]);

fn acquires((pool, _): &mut WithStreams) -> Ended {
    for factor in [1, 3] {
        let scope = pool.scope();
        let n = factor * N;
        let _first = scope.try_acquire::<f32, _>(n)?;
        let _second = scope.try_acquire_zeroed::<f64, _>(n)?;
        let filled = scope.try_acquire_filled(n, [1_u8, 2, 3])?;
        let from = scope.try_acquire_from(&[7_u16; N])?;
        let _array = scope.try_acquire::<u8, _>(&[n, 2][..])?;
        let shaped = scope.try_acquire_shaped::<u32>(&[n, 1, 2])?;
        let (mut array, _) = shaped.array.into_parts();
        array.fill_with_zeros()?;
        let mut host = [[0; 3]; N];
        let mut wide = [[0; 3]; 3 * N];
        filled.copy_to_host(if factor == 1 { &mut host[..] } else { &mut wide[..] })?;
        drop(from.copy_to_vec()?);
    }
    (0..40).try_for_each(|_| pool.scope().try_acquire::<u8, _>(0).map(drop))?;
    pool.trim();
    Ok(())
}

fn foreign_streams((pool, [known, unknown]): &mut WithStreams) -> Ended {
    register_stream(known);
    for factor in [1, 3] {
        let scope = pool.scope();
        let mut view = scope.try_acquire_filled(factor * N, 1_u8)?;
        let mut other = scope.try_acquire_filled(factor * N, 2_u8)?;
        record_use(&view, known)?;
        view.on(known).map(drop)?;
        if other.device_ptr_mut(unknown).0 == 0 {
            return Err(scope.context().take_pending_error().unwrap().into());
        }
        record_use(&other, known)?;
        other.copy_from(view.as_view())?;
        scope.context().join_other_streams()?;
    }
    pool.trim();
    pool.compact(&Compaction::default());
    pool.clear();
    Ok(())
}

/// Drops blocks and shapes that cannot be freed at that time, because the stream is captured.
fn drops((pool, _): &mut (Option<Pool<Cuda>>, CudaDevice)) -> Ended {
    let Some(mut own) = pool.take() else { return Ok(()) };
    let stream = Arc::clone(own.context().stream());
    let acquired = (|| {
        let scope = own.scope();
        scope.try_acquire_filled(N, 1_u64)?;
        scope.try_acquire_from(&[1_u8; N])?;
        scope.try_acquire_shaped::<u8>(&[2, 3]).map(drop)
    })();
    stream.begin_capture(RELAXED).unwrap();
    own.trim();
    drop(own);
    with_memory(|| drop(stream.end_capture(CUgraphInstantiate_flags(0)).unwrap()));
    Ok(acquired?)
}

fn pool_of_a_thread(_: &mut ()) -> Ended {
    for _ in 0..2 {
        let mut pool = Pool::<Cuda>::with_config(DeviceStream::for_thread()?, PoolConfig::new())?;
        let _view = pool.scope().try_acquire_filled(N, 1_u8)?;
        let device = with_memory(|| Cuda::device(0))?;
        DeviceStream::set_for_thread(with_memory(|| another_stream(&device)))?;
    }
    Ok(())
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn pools_without_host_memory() {
    let simulator = Simulator::start(Settings::default()).unwrap();
    let after = |(mut pool, streams): WithStreams| {
        use_pool(&mut pool);
        drop((pool, streams));
    };
    sweep(simulator, "acquires", pool_and_streams, acquires, after);
    sweep(simulator, "foreign streams", pool_and_streams, foreign_streams, after);
    let one = |device: &CudaDevice| (Some(pool_and_streams(device).0), device.clone());
    let after_drops = |(pool, device): (Option<Pool<Cuda>>, CudaDevice)| {
        assert!(pool.is_none());
        Cuda::retry_deferred_frees();
        use_pool(&mut pool_and_streams(&device).0);
    };
    sweep(simulator, "drops", one, drops, after_drops);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn the_first_pool_of_a_thread_without_host_memory() {
    let simulator = Simulator::start(Settings::default()).unwrap();
    sweep(simulator, "first pool", |_| (), pool_of_a_thread, |()| {});
}

/// A pool of graph memory, and a graph that uses one of its blocks.
struct WithGraph {
    pool: CUDAGraphMemoryPool,
    arena: CudaArena,
    stream: Arc<CudaStream>,
    block: GraphMemoryBlock,
    graph: Option<CapturedGraph>,
}

fn with_graph(device: &CudaDevice) -> WithGraph {
    let (memory, stream) = (DeviceMemory::new(device), another_stream(device));
    let config = GraphPoolConfig { initial: 0, maximum: u64::MAX };
    let pool = CUDAGraphMemoryPool::with_config(memory.clone(), config);
    let arena = || CudaArena::new(memory.clone(), 1 << 16, ArenaPolicy::Linear).unwrap();
    let block = pool.allocate(4096).unwrap();
    let lease = pool.lease(&[block.id()]).unwrap();
    let session = CaptureSession::new(&stream).unwrap().mode(CaptureMode::Relaxed).lease(lease);
    let body = |capture: &Capture<'_>, (): &mut ()| {
        capture.fill_bytes(capture.main(), &mut capture.block::<u8>(&block)?, 3)
    };
    let graph = session
        .prepare(arena())
        .unwrap()
        .capture((), body)
        .unwrap_or_else(|error: CaptureError| panic!("{}", error_chain(&error)));
    WithGraph { arena: arena(), pool, stream, block, graph: Some(graph) }
}

fn graph_memory(on: &mut WithGraph) -> Ended {
    for size in [1, 20 << 20, 5000] {
        let block = on.pool.allocate(size)?;
        let lease = on.pool.lease(&[block.id()])?;
        drop(lease);
        on.pool.deallocate(block.id())?;
        on.pool.allocate(size)?;
    }
    on.pool.reset()?;
    on.pool.trim()?;
    on.arena.install(&on.stream)?;
    let arena = CudaArena::on(&on.stream);
    let region = arena.as_ref().map(|arena| arena.allocate(100)).transpose();
    on.arena.clear(&on.stream)?;
    if let Some(region) = region? {
        let _ended = on.arena.deallocate(region.address());
    }
    Ok(())
}

/// Replays the graph. This allocates nothing, because a graph has reserved all the memory that its
/// runs and its end need.
fn replays(on: &mut WithGraph) -> Ended {
    let Some(mut graph) = on.graph.take() else { return Ok(()) };
    graph.upload()?;
    graph.replay()?;
    graph.replay()?;
    let mut bytes = [0_u8; 8];
    graph.read(&on.block, &mut bytes)?;
    assert_eq!(bytes, [3; 8]);
    graph.synchronize()?;
    drop(graph);
    Ok(())
}

/// Runs two steps in flight. One ticket is dropped without having been waited for.
fn feeding(on: &mut WithGraph) -> Ended {
    let Some(graph) = &mut on.graph else { return Ok(()) };
    let config = StagingConfig { buffers: 4, bytes: 4096 };
    let mut staging = StagingPool::with_config(on.stream.context(), config)?;
    graph.enqueue_write(&mut staging, &on.block, &[1_u8; 8])?;
    graph.replay()?;
    drop(graph.enqueue_read::<u8>(&mut staging, &on.block, 8)?);
    graph.enqueue_write(&mut staging, &on.block, &[7_u8; 8])?;
    let mut ticket = graph.enqueue_read::<u8>(&mut staging, &on.block, 9)?;
    assert_eq!(ticket.wait()?, [7, 7, 7, 7, 7, 7, 7, 7, 3]);
    Ok(())
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn graph_memory_without_host_memory() {
    let simulator = Simulator::start(Settings::default()).unwrap();
    let after = |mut on: WithGraph| {
        graph_memory(&mut on).unwrap();
        replays(&mut on).unwrap();
    };
    sweep(simulator, "graph memory", with_graph, graph_memory, after);
    let writes = |on: &mut WithGraph| {
        let Some(graph) = &mut on.graph else { return Ok(()) };
        Ok(graph.write(&on.block, &[3_u8; 8])?)
    };
    sweep(simulator, "writes", with_graph, writes, after);
    let after_feeding = |mut on: WithGraph| {
        feeding(&mut on).unwrap();
        after(on);
    };
    sweep(simulator, "feeding", with_graph, feeding, after_feeding);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn replays_take_no_host_memory() {
    let simulator = Simulator::start(Settings::default()).unwrap();
    let device = Cuda::device(0).unwrap();
    // cudarc loads the driver's functions at their first use, so this uses them once.
    replays(&mut with_graph(&device)).unwrap();
    let mut on = with_graph(&device);
    let (ended, plan) = without_memory(0, true, || replays(&mut on));
    ended.unwrap();
    assert_eq!((plan.refused, plan.excepted), (0, 0));
    drop((on, device));
    simulator.assert_clean();
    simulator.assert_no_leaks();
}

/// A graph that is dropped during another graph's capture is kept until the capture ends, without
/// an allocation.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_graph_that_is_dropped_in_a_capture_takes_no_host_memory() {
    let simulator = Simulator::start(Settings::default()).unwrap();
    let device = Cuda::device(0).unwrap();
    // cudarc loads the driver's functions at their first use, which would free memory during the
    // capture. This uses them once.
    drop(with_graph(&device));
    let (mut on, other) = (with_graph(&device), with_graph(&device));
    let session = CaptureSession::new(&other.stream).unwrap().mode(CaptureMode::Relaxed);
    let arena = CudaArena::new(DeviceMemory::new(&device), 1 << 16, ArenaPolicy::Monotone).unwrap();
    let dropped = |_: &Capture<'_>, graph: &mut Option<CapturedGraph>| {
        let ((), plan) = without_memory(0, true, || drop(graph.take()));
        assert_eq!((plan.refused, plan.excepted), (0, 0));
        Ok::<(), CaptureError>(())
    };
    let made = session.prepare(arena).unwrap().capture(on.graph.take(), dropped);
    drop(made.unwrap());
    drop((on, other, device));
    simulator.assert_clean();
    simulator.assert_no_leaks();
}
