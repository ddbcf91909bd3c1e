//! Threads with their own pools, and threads with streams that use another thread's memory. Their
//! data stays correct.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use cuda_sim_control::Settings;
use cudarc::driver::{DevicePtrMut, LaunchConfig, PushKernelArg};
use pool_core::{Pool, PoolView};
use pool_cuda::{Cuda, CudaDevice, DeviceStream};
use pool_kernels::elementwise;

use crate::support::{function, in_many_orders, orders, pool, start, start_anew};

const SCOPES: u32 = 100;
/// The number of rounds in which two threads meet, each slightly later than in the previous round.
const MEETINGS: u32 = 400;

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn eight_threads_keep_their_data() {
    in_many_orders(|_| {
        // These are not scoped threads, because a thread scope does not wait for the last
        // destructor.
        let threads = [0, 1, 2, 3, 4, 5, 6, 7].map(|number| thread::spawn(move || work(number)));
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

fn work(thread: u32) {
    let mut pool = Pool::<Cuda>::new(DeviceStream::for_thread().unwrap());
    let mut scope = pool.scope();
    let kept = scope.acquire_filled(64, thread);
    for round in 0..SCOPES {
        let inner = scope.scope();
        let view = inner.acquire_filled(32 + round as usize % 7, thread * 1000 + round);
        if round % 10 == 0 {
            assert!(
                view.copy_to_vec().unwrap().iter().all(|found| *found == thread * 1000 + round)
            );
        }
    }
    assert_eq!(kept.copy_to_vec().unwrap(), [thread; 64]);
}

/// Another thread launches on a stream and then drops the stream, while the pool checks the block's
/// users. The pool waits for the launch in any interleaving.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_last_launch_is_waited_for_when_its_thread_lets_the_stream_go() {
    let simulator = start();
    for seed in 0..orders().div_ceil(4) {
        start_anew(simulator, Settings::default(), seed);
        let device = Cuda::device(0).unwrap();
        meet(&device);
        drop(device);
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}

fn meet(device: &CudaDevice) {
    const N: usize = 8;
    let copy = function(device.context(), elementwise::MODULE, elementwise::COPY.f32);
    let mut pool = pool(device);
    let reader = device.context().new_stream().unwrap();
    let mut copies = reader.alloc_zeros::<f32>(N * MEETINGS as usize).unwrap();
    let (first, _) = copies.device_ptr_mut(&reader);
    device.context().synchronize().unwrap();
    for round in 0..MEETINGS {
        let stream = device.context().new_stream().unwrap();
        let view = pool.scope().acquire_filled(N, 1.0_f32).into_view();
        let argument = view.on(&stream).unwrap();
        let to = first + u64::from(round) * 4 * N as u64;
        let is_there = AtomicBool::new(false);
        thread::scope(|threads| {
            let (is_there, copy, argument) = (&is_there, &copy, &argument);
            threads.spawn(move || {
                is_there.store(true, Ordering::SeqCst);
                (0..(round % 20) * 8).for_each(|_| spin_loop());
                let count = N as u64;
                let mut launch = stream.launch_builder(copy);
                launch.arg(argument).arg(&to).arg(&count);
                // SAFETY: the arguments match the parameters of `COPY`. The kernel reads the view
                // on the stream that was passed to `on`, and writes elements that no other work
                // uses.
                unsafe { launch.launch(LaunchConfig::for_num_elems(8)) }.unwrap();
            });
            while !is_there.load(Ordering::SeqCst) {
                spin_loop();
            }
            (0..(round / 20) * 8).for_each(|_| spin_loop());
            let _for_reading = view.on(&reader).unwrap();
        });
        pool.scope().acquire_filled(N, 2.0_f32);
    }
    device.context().synchronize().unwrap();
}
