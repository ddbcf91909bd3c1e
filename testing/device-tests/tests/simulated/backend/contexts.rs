//! Default streams of two devices, whose handles are the same number. Every call uses the intended
//! stream, whichever context is current.

use std::sync::Arc;

use cuda_sim_control::{Settings, Simulator};
use cudarc::driver::DevicePtr;
use cudarc::driver::sys::CUgraphInstantiate_flags;
use cudarc::driver::sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL as LOCAL;
use pool_core::{Pool, PoolView, PoolViewMut};
use pool_cuda::{Cuda, CudaDevice, DeviceStream, record_use};

use crate::support::{orders, pool, start, start_anew};

/// The number of elements in each array.
const N: usize = 4096;

/// Returns a pool on a device's default stream.
fn pool_on_default(device: &CudaDevice) -> Pool<Cuda> {
    let stream = device.context().default_stream();
    Pool::new(DeviceStream::new(device, stream).unwrap())
}

/// Runs a program on two devices in many orders.
fn on_two_devices(program: impl Fn(Simulator, &[CudaDevice; 2])) {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, Settings { devices: 2, ..Settings::default() }, seed);
        let devices = [0, 1].map(|ordinal| Cuda::device(ordinal).unwrap());
        program(simulator, &devices);
        drop(devices);
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}

/// Returns one device with stream-ordered allocations, and one with plain allocations.
fn of_both_kinds(device: &CudaDevice) -> [CudaDevice; 2] {
    [device.clone(), device.clone().without_memory_pool()]
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_default_stream_waits_for_the_other_device_it_copies_from() {
    on_two_devices(|_, [near, far]| {
        for (here, there) in [(near, far), (far, near)] {
            let (mut to, mut from) = (pool_on_default(here), pool(there));
            let (to, from) = (to.scope(), from.scope());
            let mut copy = to.acquire_zeroed::<u8, _>(N);
            let source = from.acquire_filled(N, 7_u8);
            copy.copy_from(source.as_view()).unwrap();
            assert_eq!(copy.copy_to_vec().unwrap(), [7; N]);
        }
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_default_stream_is_waited_for_by_the_other_device_that_copied_from_it() {
    on_two_devices(|_, [near, far]| {
        let (mut from, mut to) = (pool_on_default(near), pool(far));
        for value in [7_u8, 8] {
            let (from, to) = (from.scope(), to.scope());
            let source = from.acquire_filled(N, value);
            let mut copy = to.acquire_zeroed::<u8, _>(N);
            copy.copy_from(source.as_view()).unwrap();
        }
        let from = from.scope();
        from.acquire_filled(N, 9_u8);
        assert_eq!(to.scope().acquire::<u8, _>(N).copy_to_vec().unwrap(), [8; N]);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn default_streams_of_two_devices_copy_to_and_fro() {
    on_two_devices(|_, [near, far]| {
        for (near, far) in of_both_kinds(near).iter().zip(&of_both_kinds(far)) {
            let mut pools = [pool_on_default(near), pool_on_default(far)];
            for round in 0..4_u8 {
                let [here, there] = &mut pools;
                let (here, there) = (here.scope(), there.scope());
                let mut one = here.acquire_filled(N + 1000 * usize::from(round), round);
                let mut two = there.acquire_zeroed::<u8, _>(one.len());
                two.copy_from(one.as_view()).unwrap();
                one.fill_with_value(99).unwrap();
                one.copy_from(two.as_view()).unwrap();
                assert!(one.copy_to_vec().unwrap().iter().all(|found| *found == round));
            }
        }
    });
}

/// The pool holds the last handle of a stream of the other device. Waiting for the stream also
/// destroys it, which makes the other context current in the middle of an allocation.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_stream_of_the_other_device_ends_in_the_middle_of_an_allocation() {
    on_two_devices(|_, [near, far]| {
        for near in of_both_kinds(near) {
            let stream = near.context().new_stream().unwrap();
            let own = DeviceStream::new(&near, Arc::clone(&stream)).unwrap();
            let mut from = Pool::<Cuda>::new(own);
            {
                let mut to = pool(far);
                let (from, to) = (from.scope(), to.scope());
                let source = from.acquire_filled(N, 7_u8);
                to.acquire::<u8, _>(N).copy_from(source.as_view()).unwrap();
            }
            // The block is freed at the next allocation.
            stream.begin_capture(LOCAL).unwrap();
            assert_eq!(from.trim().slots, 1);
            drop(stream.end_capture(CUgraphInstantiate_flags(0)).unwrap());
            far.context().synchronize().unwrap();
            let before = far.memory().unwrap().free;
            let large = from.scope().acquire_filled(8 << 20, 1_u8);
            assert_eq!(far.memory().unwrap().free, before, "memory of the pool's own device");
            assert_eq!(large.copy_to_vec().unwrap()[N], 1);
        }
    });
}

/// cudarc makes the stream's context current, requests the pointer, and continues with the raw
/// handle.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_pointer_is_given_out_with_the_pools_context_current() {
    on_two_devices(|_, [near, far]| {
        let (mut from, mut to) = (pool_on_default(near), pool(far));
        let from = from.scope();
        let mut source = from.acquire_filled(N, 7_u8);
        for round in 0..3_u8 {
            {
                let to = to.scope();
                to.acquire::<u8, _>(N).copy_from(source.as_view()).unwrap();
            }
            let default = near.context().default_stream();
            default.memset_zeros(&mut source).unwrap();
            assert_eq!(default.clone_dtoh(&source).unwrap(), [0; N]);
            let other = near.context().new_stream().unwrap();
            other.memcpy_htod(&[round; N], &mut source).unwrap();
            record_use(&source, &default).unwrap();
            drop(source.device_ptr(&default));
            assert_eq!(source.copy_to_vec().unwrap(), [round; N]);
        }
    });
}
