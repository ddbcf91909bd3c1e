//! Tests other streams and the release of memory on a device.

use crate::require_device;
use pool_core::{Pool, PoolView};
use pool_cuda::{Cuda, register_stream};

/// A number of elements that keeps a device busy for a while.
const N: usize = 4 << 20;

#[test]
#[ignore = "needs a CUDA device"]
fn another_stream_is_ordered() {
    let _present = require_device();
    let device = Cuda::device(0).unwrap();
    let mut pool = Pool::<Cuda>::new(device.new_stream().unwrap());
    let other = device.context().new_stream().unwrap();
    register_stream(&other);
    let mut copy = other.alloc_zeros::<u32>(N).unwrap();
    for round in 1..20 {
        let scope = pool.scope();
        let mut view = scope.acquire_filled(N, round);
        other.memcpy_dtod(&view, &mut copy).unwrap();
        other.memset_zeros(&mut view).unwrap();
        let again = pool.scope().acquire::<u32, _>(N);
        assert!(again.copy_to_vec().unwrap().iter().all(|element| *element == 0), "round {round}");
        let seen = other.clone_dtoh(&copy).unwrap();
        assert!(seen.iter().all(|element| *element == round), "round {round}");
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn trim_gives_memory_back() {
    let _present = require_device();
    let device = Cuda::device(0).unwrap();
    let mut pool = Pool::<Cuda>::new(device.new_stream().unwrap());
    pool.scope().acquire_filled(1000, 1_u8);
    let before = device.memory().unwrap().free;
    pool.scope().acquire_filled(256 << 20, 1_u8);
    assert!(device.memory().unwrap().free + (250 << 20) < before);
    pool.trim();
    assert!(device.memory().unwrap().free + (16 << 20) >= before);
}
