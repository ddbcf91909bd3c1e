//! Copies and fills of every size, between the host, views, pools and devices.

use cuda_sim_control::Settings;
use pool_core::{PodElement, PoolView, PoolViewMut};
use pool_cuda::{Cuda, CudaError};

use crate::support::{in_many_orders, orders, pool, start, start_anew};

/// A size that exceeds the capacity of all staging buffers together.
const LARGE: usize = (5 << 20) + 3;

fn there_and_back<T: PodElement + PartialEq + std::fmt::Debug>(
    scope: &pool_core::Scope<'_, Cuda>,
    value: T,
    lengths: &[usize],
) {
    for &length in lengths {
        let filled = scope.acquire_filled(length, value);
        assert!(filled.copy_to_vec().unwrap().iter().all(|element| *element == value), "{length}");
    }
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn fills_of_every_size_of_element() {
    in_many_orders(|device| {
        let mut pool = pool(device);
        let scope = pool.scope();
        let lengths = [0, 1, 2, 3, 1000];
        there_and_back(&scope, 7_u8, &lengths);
        there_and_back(&scope, 0x1234_u16, &lengths);
        there_and_back(&scope, 1.5_f32, &lengths);
        there_and_back(&scope, 1.1_f64, &lengths);
        there_and_back(&scope, [1_u8, 2, 3], &lengths);
        there_and_back(&scope, [1.0_f32, 2.0, 3.0], &lengths);
        there_and_back(&scope, [1.0_f64, 2.0, 3.0], &lengths);
        there_and_back(&scope, 0x1234_5678_9abc_def0_u128, &lengths);
        let flags = scope.acquire_filled(9, true);
        assert_eq!(flags.into_view().as_bytes().copy_to_vec().unwrap(), [1; 9]);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn long_copies_go_through_the_staging_buffers_in_turn() {
    let simulator = start();
    let device = Cuda::device(0).unwrap();
    let mut pool = pool(&device);
    let content: Vec<u8> = (0..=250).cycle().take(LARGE).collect();
    for _ in 0..3 {
        let scope = pool.scope();
        let mut view = scope.acquire_from(&content);
        assert!(view.copy_to_vec().unwrap() == content);
        view.copy_from_host(&vec![1; LARGE]).unwrap();
        view.copy_from_host(&content).unwrap();
        let doubled = scope.acquire_filled(1 << 18, 1.25_f64);
        assert!(doubled.copy_to_vec().unwrap().iter().all(|element| *element == 1.25));
        assert!(view.copy_to_vec().unwrap() == content);
    }
    assert!(simulator.calls("cuMemHostAlloc") <= 4, "the staging memory is pooled");
    drop(pool);
    drop(device);
    simulator.assert_clean();
    simulator.assert_no_leaks();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_copy_has_left_its_source_when_it_returns() {
    in_many_orders(|device| {
        let mut pool = pool(device);
        let scope = pool.scope();
        // Unless the pool prevents it, the device reads a user's page-locked memory directly.
        // SAFETY: the memory is written before it is read.
        let mut pinned = unsafe { device.context().alloc_pinned::<u32>(5000) }.unwrap();
        pinned.as_mut_slice().unwrap().fill(5);
        let first = scope.acquire_from(pinned.as_slice().unwrap());
        pinned.as_mut_slice().unwrap().fill(6);
        let mut ordinary = vec![7_u32; 5000];
        let second = scope.acquire_from(&ordinary);
        ordinary.fill(8);
        assert_eq!(first.copy_to_vec().unwrap(), [5; 5000]);
        assert_eq!(second.copy_to_vec().unwrap(), [7; 5000]);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn pinned_memory_goes_by_cudarcs_own_copies() {
    in_many_orders(|device| {
        let mut pool = pool(device);
        let scope = pool.scope();
        let stream = scope.context().stream().clone();
        // SAFETY: the memory is written before it is read.
        let mut pinned = unsafe { device.context().alloc_pinned::<u32>(500) }.unwrap();
        pinned.as_mut_slice().unwrap().fill(5);
        let mut view = scope.acquire::<u32, _>(500);
        stream.memcpy_htod(&pinned, &mut view).unwrap();
        // SAFETY: as above.
        let mut back = unsafe { device.context().alloc_pinned::<u32>(500) }.unwrap();
        stream.memcpy_dtoh(&view, &mut back).unwrap();
        assert_eq!(back.as_slice().unwrap(), [5; 500]);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn copies_between_devices_are_ordered_both_ways() {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, Settings { devices: 2, ..Settings::default() }, seed);
        let (here, there) = (Cuda::device(0).unwrap(), Cuda::device(1).unwrap());
        let (mut near, mut far) = (pool(&here), pool(&there));
        for round in 0..3_u32 {
            let (near, far) = (near.scope(), far.scope());
            let from = near.acquire_filled(300, round);
            let mut to = far.acquire::<u32, _>(300);
            to.copy_from(from.as_view()).unwrap();
            assert_eq!(to.copy_to_vec().unwrap(), [round; 300]);
        }
        drop((near, far, here, there));
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}

/// cudarc orders such a copy after the source's stream, but does not pass the copy's own stream to
/// the source.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn cudarc_copies_a_view_to_another_device() {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, Settings { devices: 2, ..Settings::default() }, seed);
        let (here, there) = (Cuda::device(0).unwrap(), Cuda::device(1).unwrap());
        let mut near = pool(&here);
        let far = there.context().new_stream().unwrap();
        let mut slice = far.alloc_zeros::<u8>(300).unwrap();
        for round in 0..3_u8 {
            let scope = near.scope();
            let view = scope.acquire_filled(300, round);
            far.memcpy_dtod(&view, &mut slice).unwrap();
        }
        near.scope().acquire_filled(300, 9_u8);
        assert_eq!(far.clone_dtoh(&slice).unwrap(), [2; 300]);
        drop((slice, far, near, here, there));
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}

/// A copy on the pool's own stream needs no wait, although cudarc also queries the stream.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn cudarc_copies_a_view_on_its_own_stream_without_waiting() {
    let simulator = start();
    start_anew(simulator, Settings { devices: 2, ..Settings::default() }, 0);
    let (here, there) = (Cuda::device(0).unwrap(), Cuda::device(1).unwrap());
    let mut near = pool(&here);
    let stream = near.context().stream().clone();
    let mut slice = stream.alloc_zeros::<u8>(300).unwrap();
    near.scope().acquire::<u8, _>(300);
    simulator.forget_calls();
    for _ in 0..3 {
        let view = near.scope().acquire::<u8, _>(300);
        stream.memcpy_dtod(&view, &mut slice).unwrap();
    }
    assert_eq!(simulator.calls("cuCtxSynchronize"), 0);
    drop(there);
    simulator.assert_clean();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn lengths_must_agree() {
    start();
    let device = Cuda::device(0).unwrap();
    let mut pool = pool(&device);
    let scope = pool.scope();
    let mut view = scope.acquire::<u32, _>(10);
    let other = scope.acquire::<u32, _>(11);
    let mismatch =
        |source, destination| Err(CudaError::LengthMismatch { from: source, to: destination });
    assert_eq!(view.copy_from_host(&[0; 9]), mismatch(9, 10));
    assert_eq!(view.copy_from(other.as_view()), mismatch(11, 10));
    assert_eq!(view.copy_to_host(&mut [0; 12]), mismatch(10, 12));
    let (before, mut after) = view.into_split_at(4).unwrap();
    assert_eq!(after.copy_from(before.as_view()), mismatch(4, 6));
    assert!(after.into_split_at(7).is_err());
}
