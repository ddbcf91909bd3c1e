//! Calls that destroy or free, and are refused. The objects wait in one queue and are freed later.
//! The attacks come from part 2 of `last.rs`, from `att/hand.rs` (`a_free_is_refused_once`), and
//! from part 2 of `gone.rs`.

use cuda_sim_control::{Settings, Simulator};
use pool_core::Pool;
use pool_cuda::{Cuda, DeferredFreeKind};
use pool_graph::{
    ArenaPolicy, CUDAGraphMemoryPool, Capture, CaptureError, CaptureSession, CudaArena,
    DeviceMemory, GraphPoolConfig, StagingConfig, StagingPool,
};

use crate::common::{BYTES, arena, memory, pool, stream};
use crate::support::{start, start_anew};

const N: usize = 256;
const CONFIG: GraphPoolConfig = GraphPoolConfig { initial: 0, maximum: 1 << 24 };

/// The driver calls that destroy objects of the crates, and how many of each call the program makes
/// before cudarc makes one. Objects that cudarc destroys (the streams of pools, cudarc's own
/// events) may leak.
const CALLS: [(&str, u64); 8] = [
    ("cuGraphDestroy", 2),
    ("cuGraphExecDestroy", 1),
    ("cuStreamDestroy_v2", 2),
    ("cuMemFreeHost", 3),
    ("cuEventDestroy_v2", 3),
    ("cuMemFree_v2", 2),
    ("cuMemFreeAsync", 2),
    ("cuMemPoolDestroy", 1),
];

/// Creates and drops all objects: a captured graph and its update, staging, tickets, blocks,
/// arenas, and eager pools.
fn make_and_drop_all(simulator: Simulator, (call, nth, code): (&str, u64, u32)) {
    let device = Cuda::device(0).unwrap();
    let main = device.context().new_stream().unwrap();
    let mut eager = Pool::<Cuda>::new(device.new_stream().unwrap());
    let pool = CUDAGraphMemoryPool::with_config(DeviceMemory::new(&device), CONFIG);
    let block = pool.allocate(1024).unwrap();
    let lease = pool.lease(&[block.id()]).unwrap();
    let prepared = CaptureSession::new(&main).unwrap().lease(lease).prepare(arena()).unwrap();
    let body = |capture: &Capture<'_>, (): &mut ()| {
        let mut view = capture.block::<u32>(&block)?;
        capture.copy_from_host(capture.main(), &mut view, &[1; N])?;
        capture.scope(capture.main(), |scope| {
            scope.try_acquire_zeroed::<u32, _>(N)?;
            Ok::<(), CaptureError>(())
        })
    };
    simulator.fail_call(call, nth, code);
    let mut graph = prepared.capture((), body).unwrap();
    let config = StagingConfig { buffers: 2, bytes: 1024 };
    let mut staging = StagingPool::with_config(device.context(), config).unwrap();
    graph.enqueue_write(&mut staging, &block, &[1_u32; N]).unwrap();
    graph.replay().unwrap();
    let mut ticket = graph.enqueue_read::<u32>(&mut staging, &block, N).unwrap();
    assert_eq!(ticket.wait().unwrap(), [1; N]);
    graph.update(body).unwrap();
    graph.write(&block, &[2_u32; N]).unwrap();
    assert_eq!(eager.scope().acquire_zeroed::<u32, _>(9).len(), 9);
    drop((ticket, staging, graph));
    drop((prepared, pool));
    let mut another = Pool::<Cuda>::new(device.new_stream().unwrap());
    assert_eq!(another.scope().acquire_from(&[9_u32; 9]).len(), 9);
    drop((another, eager));
    drop((main, device));
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn each_destroying_call_is_refused_once_and_nothing_leaks() {
    let simulator = start();
    for (call, most) in CALLS {
        for (nth, code) in
            (1..=most).flat_map(|nth| [2, 201, 400, 700, 999].map(|code| (nth, code)))
        {
            start_anew(simulator, Settings::default(), nth);
            make_and_drop_all(simulator, (call, nth, code));
            assert!(simulator.calls(call) >= nth, "{call} is not made {nth} times");
            simulator.forget_failures();
            let left = Cuda::retry_deferred_frees();
            assert_eq!(
                left,
                0,
                "{call} refused the {nth}. time with {code}: {}",
                Cuda::deferred_frees()
            );
            simulator.assert_clean();
            let leaks = simulator.leaks();
            assert!(leaks.is_empty(), "{call} refused the {nth}. time with {code}: {leaks:?}");
        }
    }
}

/// `a_free_is_refused_once`: deferred frees are counted by kind, and retried at the next call.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn deferred_frees_are_counted_by_kind() {
    let simulator = start();
    let refused: [(DeferredFreeKind, &str, fn()); 5] = [
        (DeferredFreeKind::DeviceMemory, "cuMemFree_v2", || drop(arena())),
        (DeferredFreeKind::DeviceMemory, "cuMemFree_v2", || {
            let pool = pool();
            let block = pool.allocate(BYTES).unwrap();
            pool.deallocate(block.id()).unwrap();
        }),
        (DeferredFreeKind::PoolBlocks, "cuMemFreeAsync", || {
            let mut pool = Pool::<Cuda>::new(Cuda::device(0).unwrap().new_stream().unwrap());
            pool.scope().acquire_filled(10, 1.0_f32);
        }),
        (DeferredFreeKind::HostMemory, "cuMemFreeHost", || {
            let config = StagingConfig { buffers: 1, bytes: 64 };
            drop(StagingPool::with_config(Cuda::device(0).unwrap().context(), config).unwrap());
        }),
        (DeferredFreeKind::Event, "cuEventDestroy_v2", || {
            let config = StagingConfig { buffers: 1, bytes: 64 };
            drop(StagingPool::with_config(Cuda::device(0).unwrap().context(), config).unwrap());
        }),
    ];
    for (kind, call, make_and_drop) in refused {
        start_anew(simulator, Settings::default(), 0);
        // Dropping a pool retries each of its blocks once.
        for nth in 1..=if kind == DeferredFreeKind::PoolBlocks { 2 } else { 1 } {
            simulator.fail_call(call, nth, 999);
        }
        make_and_drop();
        simulator.forget_failures();
        let left = Cuda::deferred_frees();
        assert_eq!((left.total(), left.of(kind)), (1, 1), "{call}: {left}");
        assert_eq!(Cuda::retry_deferred_frees(), 0);
        simulator.assert_no_leaks();
    }
    let kinds = [
        (DeferredFreeKind::Graph, "cuGraphDestroy"),
        (DeferredFreeKind::Executable, "cuGraphExecDestroy"),
        (DeferredFreeKind::Stream, "cuStreamDestroy_v2"),
    ];
    for (kind, call) in kinds {
        start_anew(simulator, Settings::default(), 0);
        let main = stream();
        let prepared = CaptureSession::new(&main).unwrap().prepare(arena()).unwrap();
        let body = |capture: &Capture<'_>, (): &mut ()| {
            capture.fill_bytes(capture.main(), &mut capture.acquire::<u8>(N)?, 1)
        };
        // The end of the capture and the end of the graph each retry every deferred free once.
        for nth in 1..=3 {
            simulator.fail_call(call, nth, 999);
        }
        let graph = prepared.capture((), body).unwrap();
        drop(graph);
        simulator.forget_failures();
        let left = Cuda::deferred_frees();
        assert_eq!((left.total(), left.of(kind)), (1, 1), "{call}: {left}");
        assert_eq!(Cuda::retry_deferred_frees(), 0);
        drop((prepared, main));
        simulator.assert_no_leaks();
    }
}

/// `trim` and `dispose` count only the blocks that the driver has freed, and the pool continues.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_trim_counts_only_what_was_freed() {
    let simulator = start();
    start_anew(simulator, Settings::default(), 0);
    let memory = memory();
    let pool = CUDAGraphMemoryPool::with_config(
        memory.clone(),
        GraphPoolConfig { initial: 0, maximum: 1 << 30 },
    );
    let [one, two] = [20 << 20, 40 << 20].map(|bytes| pool.allocate(bytes).unwrap());
    for block in [one, two] {
        pool.deallocate(block.id()).unwrap();
    }
    // The newest chunk is freed first.
    simulator.fail_call("cuMemFree_v2", 1, 999);
    assert_eq!(pool.trim().unwrap(), 20 << 20);
    assert!(memory.take_pending_error().is_some());
    assert_eq!(
        (pool.allocated_bytes(), Cuda::deferred_frees().of(DeferredFreeKind::DeviceMemory)),
        (0, 1)
    );
    assert_eq!(Cuda::retry_deferred_frees(), 0);
    let block = pool.allocate(1 << 20).unwrap();
    simulator.fail_call("cuMemFree_v2", 1, 999);
    pool.deallocate(block.id()).unwrap();
    let disposal = pool.dispose();
    assert_eq!((disposal.freed_bytes, disposal.kept_bytes), (0, 16 << 20));
    assert_eq!(Cuda::retry_deferred_frees(), 0);
    simulator.assert_no_leaks();
}

/// `gone.rs`, part 2: a graph whose runs cannot be waited for keeps its block, whatever the error
/// code is. Another graph on another stream can use the block once the runs have ended.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_graph_whose_runs_are_not_waited_for_keeps_its_memory() {
    let simulator = start();
    for (call, code) in ["cuStreamSynchronize", "cuStreamIsCapturing", "cuCtxGetCurrent"]
        .into_iter()
        .flat_map(|call| [1, 2, 4, 201, 400, 700, 999].map(|code| (call, code)))
    {
        for seed in 0..5 {
            start_anew(simulator, Settings::default(), seed);
            let (device, main, other) = (Cuda::device(0).unwrap(), stream(), stream());
            let pool = CUDAGraphMemoryPool::with_config(DeviceMemory::new(&device), CONFIG);
            let block = pool.allocate(BYTES).unwrap();
            let on = |stream| {
                let session = CaptureSession::new(stream).unwrap();
                let session = session.lease(pool.lease(&[block.id()]).unwrap());
                let arena =
                    CudaArena::new(DeviceMemory::new(&device), 1 << 16, ArenaPolicy::Monotone);
                session.prepare(arena.unwrap()).unwrap()
            };
            let body = |capture: &Capture<'_>, (): &mut ()| {
                let mut view = capture.acquire::<u32>(1024)?;
                capture.fill_bytes(capture.main(), &mut view, 3)?;
                capture.copy(capture.main(), &mut capture.block(&block)?, &view)
            };
            // The graph keeps the arena, because freeing the arena would wait for the whole device.
            let prepared = on(&main);
            let mut graph = prepared.capture((), body).unwrap();
            graph.replay().unwrap();
            graph.replay().unwrap();
            // The failures occur twice for the state, and once for the executable graph.
            for nth in 1..=3 {
                simulator.fail_call(call, nth, code);
            }
            drop(graph);
            simulator.forget_failures();
            let next = on(&other).capture((), body);
            if let Ok(mut next) = next {
                next.replay().unwrap();
                next.synchronize().unwrap();
            }
            Cuda::retry_deferred_frees();
            assert!(prepared.capture((), body).is_ok(), "{call} {code}");
            drop(prepared);
            assert!(
                pool.deallocate(block.id()).is_ok(),
                "{call} {code}: {}",
                Cuda::deferred_frees()
            );
            drop((pool, main, other, device));
            assert_eq!(Cuda::retry_deferred_frees(), 0, "{call} {code}");
            simulator.assert_clean();
            simulator.assert_no_leaks();
        }
    }
}
