//! In steady state the pool makes no heap allocation on the host. This covers scopes, arrays of
//! dynamic rank, uses on other streams, copies, and feeding a graph.
//!
//! The test needs its own process: `cargo xtask sim-test` runs it.

#![allow(clippy::unwrap_used, reason = "a failing test panics")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use cuda_sim_control::{Settings, Simulator};
use pool_core::{Pool, PoolView, PoolViewMut};
use pool_cuda::{AcquireShaped, Cuda, record_use, register_stream};
use pool_graph::{
    ArenaPolicy, CUDAGraphMemoryPool, Capture, CaptureError, CaptureSession, CudaArena,
    DeviceMemory, GraphPoolConfig, ReadTicket, StagingConfig, StagingPool,
};

/// The system allocator, with a counter for each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    /// `true` while allocations are counted.
    static ON: Cell<bool> = const { Cell::new(false) };
}

// SAFETY: all calls go to the system allocator; the counter does not affect them.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if ON.get() {
            ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        }
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract.
        unsafe { System.dealloc(memory, layout) };
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Returns the number of allocations by `program`. The simulated driver is a shared library with
/// its own allocator, so its allocations are not counted.
fn allocations(program: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.get();
    ON.set(true);
    program();
    ON.set(false);
    ALLOCATIONS.get() - before
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn steady_state_takes_nothing_from_the_heap() {
    let simulator = Simulator::start(Settings::default()).unwrap();
    let device = Cuda::device(0).unwrap();
    let other = device.context().new_stream().unwrap();
    register_stream(&other);
    let mut pool = Pool::<Cuda>::new(device.new_stream().unwrap());
    let content = [1.5_f32; 100];
    let mut back = [0.0_f32; 100];
    let mut pass = |pool: &mut Pool<Cuda>| {
        let mut outer = pool.scope();
        let mut view = outer.acquire_from(&content);
        let scope = outer.scope();
        let mut more = scope.acquire_filled(100, 2.5_f32);
        scope.acquire_filled(100, [1.5_f64, 2.5, 3.5]);
        scope.acquire::<f64, _>(&[2, 3, 1, 4, 1, 5][..]);
        assert_eq!(scope.try_acquire_shaped::<u8>(&[2, 3]).unwrap().shape.rank(), 2);
        record_use(&view, &other).unwrap();
        more.copy_from(view.as_view()).unwrap();
        view.fill_with_zeros().unwrap();
        more.copy_to_host(&mut back).unwrap();
    };
    for _ in 0..3 {
        pass(&mut pool);
    }
    let found = allocations(|| (0..1000).for_each(|_| pass(&mut pool)));
    assert_eq!(found, 0);
    let of_test = allocations(|| drop(std::hint::black_box(Box::new(1))));
    assert_eq!(of_test, 1, "an allocation is counted");
    simulator.assert_clean();
}

/// Feeding a graph makes no heap allocation either, with three steps in flight and with a refusal.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn feeding_a_graph_takes_nothing_from_the_heap() {
    const ELEMENTS: usize = 1024;
    let simulator = Simulator::start(Settings::default()).unwrap();
    let device = Cuda::device(0).unwrap();
    let stream = device.context().new_stream().unwrap();
    let memory = DeviceMemory::new(&device);
    let config = GraphPoolConfig { initial: 0, maximum: u64::MAX };
    let pool = CUDAGraphMemoryPool::with_config(memory.clone(), config);
    let [input, output] = [(); 2].map(|()| pool.allocate(4 * ELEMENTS as u64).unwrap());
    let session = CaptureSession::new(&stream).unwrap();
    let session = session.lease(pool.lease(&[input.id(), output.id()]).unwrap());
    let arena = CudaArena::new(memory, 256, ArenaPolicy::Monotone).unwrap();
    let body = |capture: &Capture<'_>, (): &mut ()| -> Result<(), CaptureError> {
        let from = capture.block::<f32>(&input)?;
        capture.copy(capture.main(), &mut capture.block(&output)?, &from)
    };
    let mut graph = session.prepare(arena).unwrap().capture((), body).unwrap();
    let config = StagingConfig { buffers: 6, bytes: 4 * ELEMENTS };
    let mut staging = StagingPool::with_config(device.context(), config).unwrap();
    let mut tickets: [Option<ReadTicket<f32>>; 3] = [None, None, None];
    let mut results = [0.0_f32; ELEMENTS];
    let mut sum = 0.0;
    let mut step = |number: u8| {
        let place = usize::from(number) % tickets.len();
        if let Some(mut oldest) = tickets[place].take() {
            results.copy_from_slice(oldest.wait().unwrap());
            sum += results[0];
        }
        graph.enqueue_write(&mut staging, &input, &[f32::from(number); ELEMENTS]).unwrap();
        graph.replay().unwrap();
        tickets[place] = Some(graph.enqueue_read(&mut staging, &output, ELEMENTS).unwrap());
        let too_much = graph.enqueue_read::<f32>(&mut staging, &output, ELEMENTS + 1);
        assert!(too_much.is_err());
    };
    (0..6).for_each(&mut step);
    let made = simulator.calls("cuMemHostAlloc");
    let found = allocations(|| (0..200).for_each(&mut step));
    assert_eq!((found, simulator.calls("cuMemHostAlloc")), (0, made));
    assert!(sum > 0.0);
    drop((tickets, staging, graph));
    simulator.assert_clean();
}
