//! A device that is lost at any point of a program: between its steps, in each of its submissions,
//! and in each of its calls of wgpu.

#[cfg(not(target_arch = "wasm32"))]
use std::cell::Cell;
#[cfg(not(target_arch = "wasm32"))]
use std::rc::Rc;

use pool_conformance::programs::test_cases;
use pool_conformance::{BackendProbe, Ledger};
use pool_core::{LendView, Pool, PoolError, PoolView, PoolViewMut};
use pool_wgpu::{Kernel, Stream, Wgpu, WgpuError};

use crate::kernels::{axpy, axpy_parameters};
#[cfg(not(target_arch = "wasm32"))]
use crate::support::watching_calls;
use crate::support::{WgpuProbe, destroy, with_passing_stream};

/// One step of a program that uses everything, with its result.
type Step = fn(&mut Program<'_>) -> Result<(), WgpuError>;

/// The objects of the steps.
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

const STEPS: [Step; 14] = [
    |program| of_pool(program.pool.scope().try_acquire::<f32, _>(100)).map(drop),
    |program| of_pool(program.pool.scope().try_acquire_zeroed::<f32, _>(200)).map(drop),
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
        let mut to = of_pool(scope.try_acquire_zeroed::<u8, _>(1_000))?;
        to.part_mut(1..10)?.copy_from(from.part(2..11)?)?;
        to.part_mut(1..10)?.copy_from_host(&[1; 9])?;
        to.copy_to_vec().map(|found| assert_eq!(found[..3], [0, 1, 1]))
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
    |program| {
        // Freed while work on it is recorded, which is submitted then.
        of_pool(program.pool.scope().try_acquire_filled(100, 1_u8))?;
        program.pool.trim();
        Ok(())
    },
    |program| {
        let encoder = program.stream.device().create_command_encoder(&Default::default());
        of_pool(program.pool.scope().try_acquire_filled(100, 1_u8))?;
        program.stream.submit_with([encoder.finish()])
    },
    |program| program.stream.submit(),
];

/// Runs the steps, each after a call of `before`. Checks that after the first step that reports a
/// lost device all others do, and that no block is left. Returns `true` if one reported it.
fn run_steps(stream: &Stream, kernel: &Kernel, mut before: impl FnMut(usize)) -> bool {
    let ledger = Ledger::new();
    let watched = WgpuProbe::with_ledger(stream.clone(), ledger.clone()).context();
    let mut pool = Pool::<Wgpu>::new(watched.clone());
    let mut program = Program { stream: &watched, kernel, pool: &mut pool, reading: None };
    let mut is_reported = false;
    for (at, step) in STEPS.iter().enumerate() {
        before(at);
        match step(&mut program) {
            // Steps that only free memory, or take a reading of nothing, do not use the device.
            Ok(()) => {
                assert!(
                    !is_reported || matches!(at, 7 | 10),
                    "step {at} after the loss was reported"
                );
            }
            Err(WgpuError::DeviceLost) => is_reported = true,
            Err(error) => panic!("step {at}: {error}"),
        }
    }
    drop(program);
    drop(pool);
    assert_eq!(ledger.live_blocks(), 0);
    let counts = stream.counts();
    assert_eq!(counts.buffers_created, counts.buffers_freed);
    is_reported
}

#[test]
fn a_device_that_is_lost_before_any_step_is_reported_and_nothing_hangs() {
    for lost_before in 0..=STEPS.len() {
        let reported = with_passing_stream(|stream| {
            run_steps(stream, &axpy(stream), |at| {
                if at == lost_before {
                    destroy(stream);
                }
            })
        });
        let Some(is_reported) = reported else { return };
        assert_eq!(is_reported, lost_before < STEPS.len());
    }
}

/// Destroys the device in the n-th of the chosen calls of wgpu during the steps, for every n, or
/// for one of `one_of`, until there is no n-th. Returns their number.
#[cfg(not(target_arch = "wasm32"))]
fn sweep(one_of: usize, is_one: fn(&str) -> bool) -> Option<usize> {
    for nth in (1..).step_by(one_of) {
        let calls = Rc::new(Cell::new(0));
        let is_reported = with_passing_stream(|stream| {
            let kernel = axpy(stream);
            let (device, counter) = (stream.device().clone(), Rc::clone(&calls));
            let watch = move |call: &str| {
                counter.set(counter.get() + usize::from(is_one(call)));
                if is_one(call) && counter.get() == nth {
                    device.destroy();
                }
            };
            watching_calls(watch, || run_steps(stream, &kernel, |_| ()))
        })?;
        if calls.get() < nth {
            assert!(!is_reported);
            return Some(calls.get());
        }
    }
    None
}

#[test]
#[cfg(not(target_arch = "wasm32"))]
fn a_device_that_is_lost_amid_any_submission_is_reported_and_nothing_hangs() {
    // After the end of the encoder, and before the queue has the commands.
    let Some(submissions) = sweep(1, |call| call == "Queue::submit") else { return };
    println!("lost amid each of {submissions} submissions");
    assert!(submissions >= 6, "{submissions}");
}

#[test]
#[cfg(not(target_arch = "wasm32"))]
fn a_device_that_is_lost_amid_any_call_is_reported_and_nothing_hangs() {
    // Amid each of them with `--full`: a device is opened for it.
    let one_of = if test_cases() > 2_000 { 1 } else { 7 };
    let Some(calls) = sweep(one_of, |_| true) else { return };
    println!("lost amid one of {one_of} of {calls} calls");
    assert!(calls >= 100, "{calls}");
}
