//! What is told of a lost device and of memory that is refused, at whatever point it happens, and that nothing is left.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pool_conformance::cases::{Ending, all};
use pool_conformance::programs::test_cases;
use pool_conformance::{Ledger, Refusal};
use pool_core::{CopyView, Pool, PoolError, PoolView, PoolViewMut};
use pool_wgpu::{Kernel, Stream, Wgpu, WgpuError, wgpu};

use crate::kernels::{axpy, axpy_parameters};
use crate::support::{WgpuProbe, own_stream, stream};

#[test]
fn a_lost_device_is_told_by_every_call() {
    let Some((stream, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let mut view = scope.acquire_filled(10, 1_u32);
    stream.device().destroy();
    assert_eq!(stream.submit(), Err(WgpuError::DeviceLost));
    assert!(stream.is_lost());
    assert_eq!(view.try_fill(2), Err(WgpuError::DeviceLost));
    assert_eq!(view.try_to_vec(), Err(WgpuError::DeviceLost));
    assert!(matches!(
        scope.try_acquire::<u8>(1_000),
        Err(PoolError::OutOfMemory { source: WgpuError::DeviceLost, .. })
    ));
    assert_eq!(stream.record(|_| ()), Err(WgpuError::DeviceLost));
    let new = Stream::new(stream.device().clone(), stream.queue().clone());
    assert_eq!(new.err(), Some(WgpuError::DeviceLost));
}

#[test]
fn a_block_above_the_largest_buffer_is_refused_with_both_numbers() {
    let Some((stream, _quiet)) = stream() else { return };
    let limit = stream.device().limits().max_buffer_size;
    let mut pool = Pool::<Wgpu>::new(stream);
    let scope = pool.scope();
    match scope.try_acquire::<u8>(usize::try_from(limit).unwrap() + 1) {
        Err(PoolError::OutOfMemory {
            source: WgpuError::BufferTooLarge { bytes, limit: told },
            ..
        }) => {
            assert_eq!((bytes, told), (limit + 256, limit));
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

/// One step of a program that uses everything, with what it returns.
type Step = fn(&mut Program<'_>) -> Result<(), WgpuError>;

/// What the steps work on.
struct Program<'a> {
    stream: &'a Stream,
    kernel: &'a Kernel,
    pool: &'a mut Pool<Wgpu>,
    reading: Option<pool_wgpu::Reading<f32>>,
}

/// A pool's error is that of its backend.
fn of_pool<T>(acquired: Result<T, PoolError<WgpuError>>) -> Result<T, WgpuError> {
    acquired.map_err(|error| match error {
        PoolError::OutOfMemory { source, .. } | PoolError::Backend { source, .. } => source,
        other => panic!("{other}"),
    })
}

const STEPS: [Step; 12] = [
    |program| of_pool(program.pool.scope().try_acquire::<f32>(100)).map(drop),
    |program| of_pool(program.pool.scope().try_acquire_zeroed::<f32>(200)).map(drop),
    |program| program.stream.submit(),
    |program| of_pool(program.pool.scope().try_acquire_from(&[1.0_f32; 5_000])).map(drop),
    |program| program.stream.record(|_| ()),
    |program| {
        let scope = program.pool.scope();
        let mut y = of_pool(scope.try_acquire_filled(100, 1.0_f32))?;
        let x = of_pool(scope.try_acquire_filled(100, 2.0_f32))?;
        let bindings = [y.binding_mut()?, x.binding()?];
        program.stream.dispatch(
            program.kernel,
            &bindings,
            &axpy_parameters(1.0, 100),
            [2, 1, 1],
        )?;
        program.reading = Some(y.read()?);
        Ok(())
    },
    |program| program.stream.submit(),
    |program| match program.reading.take() {
        Some(reading) => reading.wait().map(|found| assert_eq!(found, [3.0; 100])),
        None => Ok(()),
    },
    |program| {
        let scope = program.pool.scope();
        let from = of_pool(scope.try_acquire_filled(1_000, 7_u8))?;
        let mut to = of_pool(scope.try_acquire_zeroed::<u8>(1_000))?;
        to.slice_mut(1..10)?.try_copy_from(from.slice(2..11)?)?;
        to.slice_mut(1..10)?.try_copy_from_host(&[1; 9])?;
        to.try_to_vec().map(|found| assert_eq!(found[..3], [0, 1, 1]))
    },
    |program| {
        let mut pool = Pool::<Wgpu>::new(program.stream.clone());
        let scope = pool.scope();
        let view = of_pool(scope.try_acquire_filled(10, 1_u64))?;
        let reading = view.read()?;
        drop(reading);
        Ok(())
    },
    |program| {
        program.pool.clear();
        Ok(())
    },
    |program| program.stream.submit(),
];

#[test]
fn a_device_that_is_lost_before_any_step_is_told_and_nothing_hangs() {
    for lost_before in 0..=STEPS.len() {
        let Some((stream, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
        let kernel = axpy(&stream);
        let mut pool = Pool::<Wgpu>::new(stream.clone());
        let mut program =
            Program { stream: &stream, kernel: &kernel, pool: &mut pool, reading: None };
        let mut is_told = false;
        for (at, step) in STEPS.iter().enumerate() {
            if at == lost_before {
                stream.device().destroy();
            }
            match step(&mut program) {
                // What is only recorded does not ask the device.
                Ok(()) => {
                    assert!(!is_told || matches!(at, 7 | 10), "step {at} after the loss was told");
                }
                Err(WgpuError::DeviceLost) => is_told = true,
                Err(error) => panic!("step {at}, lost before {lost_before}: {error}"),
            }
            assert!(at >= lost_before || !is_told, "step {at}: told before it was lost");
        }
        assert_eq!(is_told, lost_before < STEPS.len());
        drop(pool);
        let counts = stream.counts();
        assert_eq!(counts.buffers_created, counts.buffers_freed, "lost before {lost_before}");
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
            let mut y = scope.acquire_zeroed::<f32>(length);
            let x = scope.acquire_filled(length, 1.0_f32);
            let bindings = [y.binding_mut().unwrap(), x.binding().unwrap()];
            stream.dispatch(&kernel, &bindings, &axpy_parameters(1.0, 10), [1, 1, 1]).unwrap();
            assert_eq!(y.slice(9..10).unwrap().try_to_vec().unwrap(), [1.0]);
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

/// A callback of the user's that panics while the stream waits for the device says nothing of the device.
#[test]
fn a_callback_that_panics_is_no_lost_device() {
    let Some((stream, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let view = scope.acquire_from(&[1_u32, 2, 3]);
    let reading = view.read().unwrap();
    stream.queue().on_submitted_work_done(|| panic!("the callback's own"));
    assert!(catch_unwind(AssertUnwindSafe(|| reading.wait())).is_err());
    assert!(!stream.is_lost());
    assert_eq!(view.try_to_vec(), Ok(vec![1, 2, 3]));
}
