//! Every operation of the crates while another stream is captured by hand, in each mode of the
//! driver, by the same thread and by another one. No operation invalidates the capture, adds a node
//! to it, or fails.
//!
//! A strict capture forbids calls that have nothing to do with its stream; the list is in
//! `capture_mode.rs` of `pool-driver`. The crates make these calls in the relaxed mode.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::channel;

use cuda_sim_control::Simulator;
use cudarc::driver::sys::{self, CUgraphInstantiate_flags, CUstreamCaptureMode};
use cudarc::driver::{CudaStream, result};
use pool_core::{Pool, PoolView, PoolViewMut, Scope, SharedPool, Stacked};
use pool_cuda::{AcquireShaped, Cuda, CudaDevice, DeviceStream, record_use, register_stream};
use pool_graph::{
    ArenaPolicy, CUDAGraphMemoryPool, Capture, CaptureError, CapturedGraph, CudaArena,
    GraphPoolConfig, StagingConfig, StagingPool,
};

use crate::cases::MIB;
use crate::steps::{Axpy, Ends, N, assert_same_bits, eager, input};
use crate::{memory, require_device};

const MODES: [CUstreamCaptureMode; 3] = [
    CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL,
    CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
    CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED,
];

const ACTIVE: sys::CUstreamCaptureStatus =
    sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_ACTIVE;

/// Objects that exist before the capture begins.
struct Before {
    device: CudaDevice,
    /// Two pools, with and without a memory pool of the driver, that hold blocks and shapes.
    pools: [Pool<Cuda>; 2],
    stacked: Pool<Stacked<Cuda>>,
    shared: SharedPool<Cuda>,
    graph_pool: CUDAGraphMemoryPool,
    other: Arc<CudaStream>,
    axpy: Axpy,
    graph: CapturedGraph,
    ends: Ends,
    staging: StagingPool,
    expected: Vec<f64>,
    /// The streams of the other fields. They are cudarc's, which destroys them.
    _streams: Vec<Arc<CudaStream>>,
}

impl Before {
    fn new() -> Self {
        let device = Cuda::device(0).unwrap();
        let devices = [device.clone(), device.clone().without_memory_pool()];
        let mut pools = devices.map(|device| Pool::<Cuda>::new(device.new_stream().unwrap()));
        pools.iter_mut().for_each(|pool| use_pool(&pool.scope()));
        let mut stacked = Pool::<Stacked<Cuda>>::new(device.new_stream().unwrap());
        stacked.scope().acquire_filled(100, 1_u64);
        let of_shared = stream(&device);
        let shared = DeviceStream::new(&device, Arc::clone(&of_shared)).unwrap();
        let shared = SharedPool::new(shared);
        drop(shared.take_zeroed::<u32>(1000));
        let config = GraphPoolConfig { initial: 0, maximum: u64::MAX };
        let graph_pool = CUDAGraphMemoryPool::with_config(memory(), config);
        let other = stream(&device);
        register_stream(&other);
        let axpy = Axpy::load(device.context());
        let on = stream(&device);
        let (graph, ends) = captured(&on, &axpy);
        let of_pools = pools.iter().map(|pool| pool.context().stream());
        let of_pools = of_pools.chain([stacked.context().stream(), &of_shared, &on]);
        let streams = of_pools.map(Arc::clone).collect();
        let staged = StagingConfig { buffers: 2, bytes: N * size_of::<f64>() };
        let staging = StagingPool::with_config(device.context(), staged).unwrap();
        let expected = eager(&axpy, &other, &input(7));
        Self {
            device,
            pools,
            stacked,
            shared,
            graph_pool,
            other,
            axpy,
            graph,
            ends,
            staging,
            expected,
            _streams: streams,
        }
    }

    /// Drops all objects of the crates. The objects of cudarc are returned, because their drops
    /// call the driver in the thread's mode.
    fn end(self) -> impl Sized {
        let Self { device, other, axpy, _streams, .. } = self;
        (device, other, axpy, _streams)
    }
}

fn stream(device: &CudaDevice) -> Arc<CudaStream> {
    device.context().new_stream().unwrap()
}

/// Captures the step in a session.
fn captured(stream: &Arc<CudaStream>, axpy: &Axpy) -> (CapturedGraph, Ends) {
    let (session, ends) = Ends::of_session(&[stream]).unwrap();
    let body = |capture: &Capture<'_>, (): &mut ()| ends.body(capture, axpy);
    let probe = session.probe(&mut (), body).unwrap();
    let graph: Result<_, CaptureError> = session.planned(&probe).unwrap().capture((), body);
    (graph.unwrap(), ends)
}

/// Grows blocks, copies in both directions, and stores a shape on the device.
fn use_pool(scope: &Scope<'_, Cuda>) {
    let mut view = scope.acquire_from(&[3_u32; 100]);
    let filled = scope.acquire_filled(100, 0x0102_0304_0506_0708_u64);
    assert_eq!(filled.copy_to_vec().unwrap(), [0x0102_0304_0506_0708_u64; 100]);
    let shaped = scope.try_acquire_shaped::<f32>(&[10, 10]).unwrap();
    assert_eq!(shaped.shape.rank(), 2);
    view.fill_with_zeros().unwrap();
    assert_eq!(view.copy_to_vec().unwrap(), [0; 100]);
}

/// Grows a pool, uses its memory on another stream, and frees it.
fn grow(pool: &mut Pool<Cuda>, other: &Arc<CudaStream>) {
    use_pool(&pool.scope());
    for length in [10_000, 40_000] {
        let scope = pool.scope();
        let mut view = scope.acquire_filled(length, 5_u16);
        other.memset_zeros(&mut view).unwrap();
        record_use(&view, other).unwrap();
    }
    assert_eq!(pool.scope().acquire_zeroed::<u8, _>(90_000).copy_to_vec().unwrap(), [0; 90_000]);
    pool.context().synchronize().unwrap();
    pool.trim();
    assert_eq!(pool.context().take_pending_error(), None);
}

type Operation = (&'static str, fn(&mut Before));

/// All operations. Each may run once for a [`Before`].
const OPERATIONS: [Operation; 11] = [
    ("the first use of a device on a thread", |_| {
        let mut pool = Pool::<Cuda>::new(DeviceStream::for_thread().unwrap());
        use_pool(&pool.scope());
    }),
    ("pools grow, are used on another stream, and are trimmed", |before| {
        let Before { pools, other, .. } = before;
        pools.iter_mut().for_each(|pool| grow(pool, other));
    }),
    ("a pool is created and dropped", |before| {
        let stream = before.device.new_stream().unwrap();
        let mut pool = Pool::<Cuda>::new(stream);
        use_pool(&pool.scope());
    }),
    ("a device of a context is created and dropped", |before| {
        let device = CudaDevice::of_context(Arc::clone(before.device.context())).unwrap();
        let mut pool = Pool::<Cuda>::new(device.new_stream().unwrap());
        use_pool(&pool.scope());
    }),
    ("a stack grows and is trimmed", |before| {
        let mut scope = before.stacked.scope();
        let _first = scope.acquire_filled(20_000, 1_u64);
        scope.scope().acquire_filled(50_000, 1_u64);
        drop(scope);
        before.stacked.trim();
        assert_eq!(before.stacked.context().take_pending_error(), None);
    }),
    ("arrays of a shared pool are created and dropped", |before| {
        let array = before.shared.take_zeroed::<u32>(100_000);
        drop(before.shared.take_zeroed::<u32>(500));
        assert_eq!(array.view().copy_to_vec().unwrap(), [0; 100_000]);
        drop(array);
        before.shared.trim();
    }),
    ("a graph pool grows, leases and is trimmed; an arena is created", |before| {
        let pool = &before.graph_pool;
        let blocks = [4096, 20 * MIB].map(|bytes| pool.allocate(bytes).unwrap());
        drop(pool.lease(&blocks.map(|block| block.id())).unwrap());
        blocks.iter().for_each(|block| pool.deallocate(block.id()).unwrap());
        pool.trim().unwrap();
        drop(CudaArena::new(memory(), MIB, ArenaPolicy::Monotone).unwrap());
        assert_eq!(memory().take_pending_error(), None);
    }),
    ("another graph is written, replayed, read and waited for", |before| {
        before.graph.upload().unwrap();
        let Before { graph, ends, expected, .. } = before;
        assert_same_bits(&ends.run(graph, &input(7)).unwrap(), expected);
        graph.synchronize().unwrap();
    }),
    ("another graph is fed without waiting", |before| {
        let Before { graph, ends, expected, staging, .. } = before;
        graph.enqueue_write(staging, &ends.from, &input(7)).unwrap();
        graph.replay().unwrap();
        let mut ticket = graph.enqueue_read::<f64>(staging, &ends.to, N).unwrap();
        while !ticket.is_done().unwrap() {
            std::thread::yield_now();
        }
        assert_same_bits(ticket.wait().unwrap(), expected);
    }),
    ("a session captures and updates a graph", |before| {
        let (mut graph, ends) = captured(&before.other, &before.axpy);
        let mut run =
            || assert_same_bits(&ends.run(&mut graph, &input(7)).unwrap(), &before.expected);
        run();
        graph.update(|capture, ()| ends.body(capture, &before.axpy)).unwrap();
        assert_same_bits(&ends.run(&mut graph, &input(7)).unwrap(), &before.expected);
    }),
    ("a scope uses the arena between replays", |before| {
        let Before { graph, .. } = before;
        graph.replay().unwrap();
        let used = graph.scope(|scope| {
            let view = scope.acquire_filled(100, 0x0102_0304_0506_0708_u64);
            assert_eq!(view.copy_to_vec().unwrap(), [0x0102_0304_0506_0708_u64; 100]);
            Ok::<(), CaptureError>(())
        });
        used.unwrap();
    }),
];

/// Begins a capture of a stream and checks what it contains at the end.
struct ByHand {
    stream: Arc<CudaStream>,
    /// The memory that the captured work fills, and its length in bytes.
    filled: u64,
}

impl ByHand {
    fn begin(stream: Arc<CudaStream>, filled: u64, mode: CUstreamCaptureMode) -> Self {
        stream.begin_capture(mode).unwrap();
        // SAFETY: the memory has 64 bytes, and only this stream uses it.
        unsafe { result::memset_d8_async(filled, 7, 64, stream.cu_stream()) }.unwrap();
        Self { stream, filled }
    }

    fn check(&self, what: &str) {
        self.stream.context().bind_to_thread().unwrap();
        assert_eq!(self.stream.capture_status().unwrap(), ACTIVE, "{what}");
    }

    fn end(self, what: &str) {
        self.check(what);
        let graph = self.stream.end_capture(CUgraphInstantiate_flags(0)).expect(what).expect(what);
        graph.launch().unwrap();
        self.stream.synchronize().unwrap();
        let mut bytes = [0_u8; 64];
        // SAFETY: the memory has 64 bytes, and its work has been waited for.
        unsafe { result::memcpy_dtoh_sync(&mut bytes, self.filled) }.unwrap();
        assert_eq!(bytes, [7; 64], "{what}");
    }
}

/// Runs a program on a new thread, on which the device has not been used yet.
fn on_a_new_thread(program: impl FnOnce() + Send) {
    std::thread::scope(|scope| scope.spawn(program).join().unwrap());
}

/// Runs an operation while its own thread captures.
fn on_the_capturing_thread(mode: CUstreamCaptureMode, operation: &Operation, ends: bool) {
    let pool = CUDAGraphMemoryPool::with_config(memory(), CONFIG);
    let block = pool.allocate(64).unwrap();
    let what = format!("{mode:?}, same thread: {}", operation.0);
    on_a_new_thread(|| {
        let mut before = Before::new();
        let captured = stream(&before.device);
        let by_hand = ByHand::begin(captured, block.address(), mode);
        (operation.1)(&mut before);
        by_hand.check(&what);
        let (kept, left) = if ends { (None, Some(before.end())) } else { (Some(before), None) };
        by_hand.end(&what);
        drop((kept, left));
    });
}

/// Runs an operation while another thread captures.
fn beside_the_capturing_thread(mode: CUstreamCaptureMode, operation: &Operation, ends: bool) {
    let pool = CUDAGraphMemoryPool::with_config(memory(), CONFIG);
    let block = pool.allocate(64).unwrap();
    let what = format!("{mode:?}, other thread: {}", operation.0);
    let captured = stream(&Cuda::device(0).unwrap());
    let mut before = Before::new();
    let ((begun, has_begun), (done, is_done)) = (channel(), channel());
    std::thread::scope(|scope| {
        let (what, address) = (&what, block.address());
        scope.spawn(move || {
            let by_hand = ByHand::begin(captured, address, mode);
            begun.send(()).unwrap();
            is_done.recv().unwrap();
            by_hand.end(what);
        });
        has_begun.recv().unwrap();
        let work = AssertUnwindSafe(|| on_a_new_thread(|| (operation.1)(&mut before)));
        // After a panic, the other thread must not wait forever.
        let worked = catch_unwind(work);
        let (kept, left) = if ends { (None, Some(before.end())) } else { (Some(before), None) };
        done.send(()).unwrap();
        if let Err(panic) = worked {
            resume_unwind(panic);
        }
        (kept, left)
    });
}

const CONFIG: GraphPoolConfig = GraphPoolConfig { initial: 0, maximum: u64::MAX };

fn check_all(run: fn(CUstreamCaptureMode, &Operation, bool)) {
    let _present = require_device();
    let last: Operation = ("all objects are dropped", |_| ());
    let mut failed = Vec::new();
    for mode in MODES {
        for (operation, ends) in OPERATIONS.iter().map(|one| (one, false)).chain([(&last, true)]) {
            // The panic's text is printed. The other operations run nevertheless.
            if catch_unwind(AssertUnwindSafe(|| run(mode, operation, ends))).is_err() {
                failed.push(format!("{mode:?}: {}", operation.0));
            }
        }
    }
    assert_eq!(failed, <[String; 0]>::default());
    assert_eq!(Cuda::retry_deferred_frees(), 0, "{}", Cuda::deferred_frees());
    if let Some(simulator) = Simulator::attach() {
        simulator.assert_clean();
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn no_operation_spoils_a_capture_of_its_own_thread() {
    check_all(on_the_capturing_thread);
}

#[test]
#[ignore = "needs a CUDA device"]
fn no_operation_spoils_a_capture_of_another_thread() {
    check_all(beside_the_capturing_thread);
}
