//! Owned arrays of a device: they are reused in the order of the stream that used them last, and
//! dropped on any thread.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::require_device;
use cuda_sim_control::Simulator;
use pool_core::{Owned, PoolBackend, PoolError, PoolView, PoolViewMut, SharedPool};
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

/// Returns the bytes that a pool counts for an array of `length` bytes. A block on a device has room
/// for one word more than its array.
fn counted_bytes(length: usize) -> usize {
    (length + size_of::<u64>()).next_multiple_of(Cuda::ALIGN)
}

/// Threads pass arrays of many lengths on to each other. The pool stays within its documented bound,
/// and no array is changed while it is live.
#[test]
#[ignore = "needs a CUDA device"]
fn arrays_of_many_lengths_stay_within_the_bound() {
    const THREADS: usize = 4;
    const MOST: usize = 40;
    let _present = require_device();
    let device = Cuda::device(0).unwrap();
    let rounds = if Simulator::attach().is_some() { 50 } else { 1000 };
    let pool = shared(&device);
    let (live, live_peak) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let passed = Mutex::new(Vec::new());
    let drop_checked = |array: Owned<Cuda, u8>, fill: u8| {
        let found = array.view().copy_to_vec().unwrap();
        assert!(found.iter().all(|&byte| byte == fill), "an array of {fill} was changed");
        drop(array);
        live.fetch_sub(counted_bytes(found.len()), Ordering::SeqCst);
    };
    thread::scope(|scope| {
        for number in 0..THREADS {
            let (pool, live, live_peak, passed, drop_checked) =
                (&pool, &live, &live_peak, &passed, &drop_checked);
            scope.spawn(move || {
                for round in 0..rounds {
                    let length = 100_000 + (round * 7919 + number * 104_729) % 400_000;
                    // Every other array is as long as whole units of the alignment.
                    let length = length - if round % 2 == 0 { length % Cuda::ALIGN } else { 0 };
                    let bytes = counted_bytes(length);
                    let now = live.fetch_add(bytes, Ordering::SeqCst) + bytes;
                    live_peak.fetch_max(now, Ordering::SeqCst);
                    let fill = u8::try_from((round * THREADS + number) % 251).unwrap();
                    let mut array = pool.take::<u8>(length);
                    array.view_mut().fill_with_value(fill).unwrap();
                    let mut passed = passed.lock().unwrap();
                    passed.push((array, fill));
                    let last = (passed.len() > MOST).then(|| passed.swap_remove(round % MOST));
                    drop(passed);
                    last.into_iter().for_each(|(array, fill)| drop_checked(array, fill));
                }
            });
        }
    });
    passed.into_inner().unwrap().into_iter().for_each(|(array, fill)| drop_checked(array, fill));
    let (stats, peak) = (pool.stats(), live_peak.into_inner());
    assert!(stats.peak_live_bytes.is_some_and(|counted| counted <= peak), "{stats:?} of {peak}");
    // Blocks that are all in use can exceed the bound, because a block can be larger than its array.
    let bound = peak + peak / 32 * 5 + (256 << 10) + THREADS * (64 << 10) + peak / 16;
    assert!(stats.peak_reserved_bytes <= bound, "{} of {bound}", stats.peak_reserved_bytes);
    assert_eq!(stats.active_slots, 0);
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
