//! Owned arrays of a device: they are reused in the order of the stream that used them last, and
//! dropped on any thread.

use std::thread;

use crate::require_device;
use pool_core::{Owned, PoolError, PoolView, PoolViewMut, SharedPool};
use pool_cuda::{Cuda, CudaDevice, CudaError, record_use, register_stream};

/// A number of elements that keeps a device busy for a while.
const N: usize = 4 << 20;

fn shared(device: &CudaDevice) -> SharedPool<Cuda> {
    SharedPool::new(device.new_stream().unwrap())
}

/// An array is dropped while another stream may still read it, and the next array reuses its block.
#[test]
#[ignore = "needs a CUDA device"]
fn arrays_used_on_another_stream_are_reused_in_order() {
    let _present = require_device();
    let device = Cuda::device(0).unwrap();
    let pool = shared(&device);
    let other = device.context().new_stream().unwrap();
    register_stream(&other);
    for round in 1..20 {
        let mut x = pool.take::<u32>(N);
        x.view_mut().fill_with_value(round).unwrap();
        let mut copy = pool.take_zeroed::<u32>(N);
        {
            let (x, mut copy) = (x.view(), copy.view_mut());
            for _ in 0..10 {
                other.memcpy_dtod(&x, &mut copy).unwrap();
            }
        }
        drop(x);
        let mut next = pool.take::<u32>(N);
        next.view_mut().fill_with_value(u32::MAX).unwrap();
        let found = copy.view().copy_to_vec().unwrap();
        assert!(found.iter().all(|&element| element == round), "round {round}");
    }
    assert_eq!(pool.stats().growths, 2);
}

#[test]
#[ignore = "needs a CUDA device"]
fn arrays_are_taken_and_dropped_on_many_threads() {
    let _present = require_device();
    let device = Cuda::device(0).unwrap();
    let pool = shared(&device);
    let arrays: Vec<Owned<Cuda, u32>> = thread::scope(|scope| {
        let workers = (0..8_u32).map(|number| {
            let (pool, device) = (pool.clone(), device.clone());
            scope.spawn(move || {
                let stream = device.context().new_stream().unwrap();
                register_stream(&stream);
                let mut last = pool.take_zeroed::<u32>(1000);
                for round in 0..50 {
                    let next = pool.take_from(&[number * 100 + round; 1000]);
                    record_use(&next.view(), &stream).unwrap();
                    assert_eq!(
                        stream.clone_dtoh(&next.view()).unwrap(),
                        [number * 100 + round; 1000]
                    );
                    last = next;
                }
                last
            })
        });
        let workers: Vec<_> = workers.collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    drop(pool); // the arrays keep their memory
    for (number, array) in (0..).zip(&arrays) {
        assert_eq!(array.view().copy_to_vec().unwrap(), [number * 100 + 49; 1000]);
    }
}

/// Memory that was freed on one stream is available to another stream, and an allocation that
/// exceeds the device fails with the attempts to free memory.
#[test]
#[ignore = "needs a CUDA device"]
fn most_of_the_device_is_used_by_one_pool_after_the_other() {
    let _present = require_device();
    let device = Cuda::device(0).unwrap();
    let free = device.memory().unwrap().free;
    let most = free / 10 * 6;
    let [one, two] = [(); 2].map(|()| device.context().new_stream().unwrap());
    for stream in [&one, &two] {
        // SAFETY: the elements are never read.
        drop(unsafe { stream.alloc::<u8>(most) }.unwrap());
    }
    two.synchronize().unwrap();
    for _ in 0..3 {
        let mut pool = pool_core::Pool::<Cuda>::new(device.new_stream().unwrap());
        assert_eq!(pool.scope().acquire::<u8, _>(most).len(), most);
    }
    let mut pool = pool_core::Pool::<Cuda>::new(device.new_stream().unwrap());
    let failed = pool.scope().try_acquire::<u8, _>(2 * most).map(|view| view.len());
    match failed {
        Err(PoolError::OutOfMemory { source: CudaError::OutOfMemory { reclaim, .. }, .. }) => {
            assert!(!reclaim.to_string().is_empty());
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(pool.scope().acquire_filled(1000, 7_u8).copy_to_vec().unwrap(), [7; 1000]);
}
