//! The errors of a lost device and of refused memory, at any point of a program, and the check that
//! nothing is left.

#[cfg(not(target_arch = "wasm32"))]
use std::panic::{AssertUnwindSafe, catch_unwind};

use pool_conformance::cases::{Ending, all};
use pool_conformance::programs::test_cases;
use pool_conformance::{Ledger, Refusal};
use pool_core::{LendView, Pool, PoolError, PoolView, PoolViewMut};
use pool_wgpu::{Stream, Wgpu, WgpuError, wgpu};

use crate::kernels::{axpy, axpy_parameters};
use crate::support::{WgpuProbe, destroy, own_stream, stream};

#[test]
fn a_lost_device_is_reported_by_every_call() {
    let Some((stream, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let mut view = scope.acquire_filled(10, 1_u32);
    destroy(&stream);
    assert_eq!(stream.submit(), Err(WgpuError::DeviceLost));
    assert!(stream.is_lost());
    assert_eq!(view.fill_with_value(2), Err(WgpuError::DeviceLost));
    assert_eq!(view.copy_to_vec(), Err(WgpuError::DeviceLost));
    assert!(matches!(
        scope.try_acquire::<u8, _>(1_000),
        Err(PoolError::OutOfMemory { source: WgpuError::DeviceLost, .. })
    ));
    assert_eq!(stream.record(|_| ()), Err(WgpuError::DeviceLost));
    let new = Stream::new(stream.device().clone(), stream.queue().clone());
    if cfg!(target_arch = "wasm32") {
        let new = new.unwrap();
        destroy(&new);
        assert_eq!(new.submit(), Err(WgpuError::DeviceLost));
    } else {
        assert_eq!(new.err(), Some(WgpuError::DeviceLost));
    }
}

#[test]
fn a_block_above_the_largest_buffer_is_refused_with_both_numbers() {
    let Some((stream, _quiet)) = stream() else { return };
    let limit = stream.device().limits().max_buffer_size;
    let mut pool = Pool::<Wgpu>::new(stream);
    let scope = pool.scope();
    match scope.try_acquire::<u8, _>(usize::try_from(limit).unwrap() + 1) {
        Err(PoolError::OutOfMemory {
            source: WgpuError::BufferTooLarge { bytes, limit: reported },
            ..
        }) => {
            assert_eq!((bytes, reported), (limit + 256, limit));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_case_with_the_nth_allocation_refused() {
    let Some((stream, _quiet)) = stream() else { return };
    // All of them with `--full`: each is run again for every allocation that it makes.
    let one_of = if test_cases() > 2_000 { 1 } else { 12 };
    let cases = all::<WgpuProbe>().into_iter().filter(|case| !case.is_long());
    for case in cases.step_by(one_of) {
        for mode in [Refusal::Once, Refusal::From] {
            for nth in 0.. {
                let ledger = Ledger::new();
                let probe = WgpuProbe::with_ledger(stream.clone(), ledger.clone());
                ledger.refuse(mode(nth));
                let ending = case.run(&probe);
                let name = case.name();
                assert!(ending != Ending::Panicked, "case {name} with {:?}", mode(nth));
                assert_eq!(ledger.live_blocks(), 0, "case {name} with {:?}", mode(nth));
                if ledger.refused() == 0 {
                    break;
                }
            }
        }
    }
}

#[test]
fn the_device_has_its_memory_back_when_pools_are_dropped() {
    let Some((stream, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
    let kernel = axpy(&stream);
    let mut left = None;
    for _ in 0..3 {
        let mut pool = Pool::<Wgpu>::new(stream.clone());
        for length in [10, 1_000, 100_000] {
            let scope = pool.scope();
            let mut y = scope.acquire_zeroed::<f32, _>(length);
            let x = scope.acquire_filled(length, 1.0_f32);
            let bindings = [y.binding_mut().unwrap(), x.binding().unwrap()];
            stream.dispatch(&kernel, &bindings, &axpy_parameters(1.0, 10), [1, 1, 1]).unwrap();
            assert_eq!(y.part(9..10).unwrap().copy_to_vec().unwrap(), [1.0]);
        }
        drop(pool);
        stream.submit().unwrap();
        stream.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
        let Some(report) = stream.device().generate_allocator_report() else {
            println!("SKIPPED: the device does not say what is allocated");
            return;
        };
        let count = report.allocations.len();
        assert_eq!(*left.get_or_insert(count), count, "{report:?}");
    }
}

/// A callback of the user's that panics while the stream waits for the device does not mean that
/// the device is lost.
#[test]
#[cfg(not(target_arch = "wasm32"))]
fn a_callback_that_panics_is_no_lost_device() {
    let Some((stream, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let view = scope.acquire_from(&[1_u32, 2, 3]);
    let reading = view.read().unwrap();
    stream.queue().on_submitted_work_done(|| panic!("the callback's own"));
    assert!(catch_unwind(AssertUnwindSafe(|| reading.wait())).is_err());
    assert!(!stream.is_lost());
    assert_eq!(view.copy_to_vec(), Ok(vec![1, 2, 3]));
}
