//! Runs the cases for all memory sources on a device. Afterwards the device has as much free memory
//! as before.

use pool_cuda::Cuda;
use pool_graph::DeviceMemory;

use crate::cases::{MIB, Subject, shared_cases, threads};
use crate::{memory, require_device};

fn on_the_device(case: impl FnOnce(&Subject<DeviceMemory>)) {
    let _present = require_device();
    let source = memory();
    let device = Cuda::device(0).unwrap();
    let free = device.memory().unwrap().free as u64;
    // Use a quarter of the free memory, but at most 1 GiB, the size of the simulated device.
    let largest = (free / 4).min(1 << 30);
    case(&Subject { source: source.clone(), largest });
    assert_eq!(source.take_pending_error(), None);
    let left = device.memory().unwrap().free as u64;
    assert!(left + 2 * MIB >= free, "{free} bytes were free, {left} are");
}

shared_cases!(on_the_device, #[ignore = "needs a CUDA device"]);

#[test]
#[ignore = "needs a CUDA device"]
fn sixteen_threads_never_overlap() {
    on_the_device(|subject| threads::no_overlap(subject, 16, 10_000));
}

/// A request for more memory than the device has makes the pool stop early, and its memory stays
/// usable.
#[test]
#[ignore = "needs a CUDA device"]
fn stops_early_where_the_device_ends() {
    on_the_device(|subject| {
        let device = Cuda::device(0).unwrap();
        let free = device.memory().unwrap().free as u64;
        let ballast = subject.pool(free - 100 * MIB, u64::MAX);
        let pool = subject.pool(1 << 40, u64::MAX);
        assert!(pool.refusal().is_some());
        assert!(pool.allocated_bytes() <= 100 * MIB);
        assert!(pool.allocated_bytes() >= 32 * MIB, "{pool:?}");
        assert!(pool.allocate(16 * MIB).is_ok());
        assert!(matches!(
            pool.allocate(1 << 40),
            Err(pool_graph::GraphMemoryError::OutOfMemory { .. })
        ));
        drop(ballast);
    });
}
