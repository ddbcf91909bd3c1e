//! Stacked device memory: one chunk contains many arrays, and each array is ordered by its own
//! bytes.

use cudarc::driver::DevicePtr;
use pool_core::{Pool, PoolView, PoolViewMut, Stacked};
use pool_cuda::{AcquireShaped, Cuda, CudaDevice, record_use, register_stream};
use pool_facade::with_pool;

use crate::support::{calls_like, in_many_orders, start, start_anew};

const N: usize = 1000;

/// Returns a stacked pool that has settled in one chunk for eight arrays.
fn settled(device: &CudaDevice) -> Pool<Stacked<Cuda>> {
    let mut pool = Pool::new(device.new_stream().unwrap());
    for _ in 0..3 {
        let scope = pool.scope();
        let _views = [(); 8].map(|()| scope.acquire_filled(N, 0.0_f32));
    }
    pool
}

/// Notes about one array can be removed while notes about another array remain.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn two_arrays_of_a_chunk_on_one_stream_are_ordered_apart() {
    in_many_orders(|device| {
        let mut pool = settled(device);
        let other = device.context().new_stream().unwrap();
        register_stream(&other);
        let mut outer = pool.scope();
        let mut first = outer.acquire_filled(N, 1.0_f32);
        other.memset_zeros(&mut first).unwrap();
        {
            let inner = outer.scope();
            let mut second = inner.acquire_filled(N, 2.0_f32);
            other.memset_zeros(&mut second).unwrap();
        }
        // This array reuses the bytes of the second array.
        let third = outer.acquire_filled(N, 3.0_f32);
        assert_eq!(third.copy_to_vec().unwrap(), [3.0; N]);
        first.fill_with_value(4.0).unwrap();
        assert_eq!(first.copy_to_vec().unwrap(), [4.0; N]);
    });
}

/// An array that only the pool's stream uses does not wait for other arrays of its chunk.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_array_waits_for_uses_of_its_own_bytes_alone() {
    let simulator = start();
    start_anew(simulator, Default::default(), 0);
    let device = Cuda::device(0).unwrap();
    let other = device.context().new_stream().unwrap();
    let mut pool = settled(&device);
    {
        let scope = pool.scope();
        let (mut lent, mut own) = (scope.acquire_filled(N, 1_u32), scope.acquire_filled(N, 2_u32));
        record_use(&lent, &other).unwrap();
        simulator.forget_calls();
        own.fill_with_value(3).unwrap();
        assert_eq!(calls_like(simulator, "cuStreamWaitEvent"), 0);
        lent.fill_with_value(4).unwrap();
        assert_eq!(calls_like(simulator, "cuStreamWaitEvent"), 1);
    }
    // The next array in these bytes waits for the stream, which might still be using them.
    simulator.forget_calls();
    let scope = pool.scope();
    scope.acquire_filled(N, 5_u32);
    assert_eq!(calls_like(simulator, "cuStreamWaitEvent"), 1);
}

/// The events that end uses on unknown streams are destroyed when their bytes are reused.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn events_of_guards_do_not_pile_up_in_a_chunk() {
    let simulator = start();
    start_anew(simulator, Default::default(), 0);
    let device = Cuda::device(0).unwrap();
    let other = device.context().new_stream().unwrap();
    let mut pool = settled(&device);
    for _ in 0..100 {
        let scope = pool.scope();
        for _ in 0..4 {
            let view = scope.acquire_filled(N, 1_u32).into_view();
            drop(view.device_ptr(&other));
        }
    }
    let created = calls_like(simulator, "cuEventCreate");
    let destroyed = calls_like(simulator, "cuEventDestroy");
    // Each of four arrays may hold one event for the next pass, in addition to cudarc's own events
    // and the pool's.
    assert!(created >= 400 && created - destroyed < 20, "{created} created, {destroyed} destroyed");
    assert_eq!(calls_like(simulator, "cuCtxSynchronize"), 0);
}

/// One block holds all live arrays, and in steady state no driver call allocates.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_stack_holds_one_block_of_the_peak() {
    let simulator = start();
    start_anew(simulator, Default::default(), 0);
    let device = Cuda::device(0).unwrap();
    let mut pool = Pool::<Stacked<Cuda>>::new(device.new_stream().unwrap());
    let lengths = [(1_usize << 16, 1_usize << 10), (1 << 10, 1 << 16)];
    let pass = |pool: &mut Pool<Stacked<Cuda>>, (first, second)| {
        let mut scope = pool.scope();
        scope.acquire_filled(first, 1.0_f32);
        let shaped = scope.scope().try_acquire_shaped::<f32>(&[second / 2, 2]).unwrap();
        shaped.shape.address()
    };
    for _ in 0..3 {
        lengths.iter().for_each(|lengths| _ = pass(&mut pool, *lengths));
    }
    simulator.forget_calls();
    let shapes = [0, 1].map(|_| lengths.map(|lengths| pass(&mut pool, lengths)));
    assert_eq!(shapes[0], shapes[1]);
    assert_eq!(calls_like(simulator, "cuMem"), calls_like(simulator, "cuMemset"));
    let live = 4 * ((1 << 16) + (1 << 10));
    let held = pool.stats().reserved_bytes;
    assert!(held * 100 <= live * 105, "{held} bytes for {live}");
}

/// A thread also has stacked pools for a device.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_thread_has_stacked_pools() {
    in_many_orders(|_| {
        let sum = std::thread::spawn(|| {
            with_pool!(Stacked<Cuda>, |scope| {
                let outer = scope.acquire_filled(N, 1.0_f32);
                let inner: f32 = with_pool!(Stacked<Cuda>, |scope| {
                    scope.acquire_filled(N, 2.0_f32).copy_to_vec().unwrap().iter().sum()
                });
                inner + outer.copy_to_vec().unwrap().iter().sum::<f32>()
            })
        });
        assert_eq!(sum.join().unwrap(), 3000.0);
    });
}
