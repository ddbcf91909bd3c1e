//! Calls that order two streams, and fail. For any error code, the use that needed the order either
//! fails, or is ordered by another call. `attacks/device3/gone.rs` found races here for the codes
//! of a destroyed context.

use cuda_sim_control::{Settings, Simulator};
use pool_core::{Pool, PoolView, PoolViewMut};
use pool_cuda::{Cuda, register_stream};

use crate::support::{pool, start, start_anew};

/// The number of elements in each array.
const N: usize = 5000;
/// The number of orders of the device's work that are tested for each code.
const SEEDS: u64 = 10;
/// Codes that a driver may return: for an invalid call, for memory, for a destroyed or broken
/// context, and an unknown code.
pub(crate) const CODES: [u32; 7] = [1, 2, 4, 201, 400, 700, 999];

/// Copies from one pool to another pool whose stream continues to read, makes a call fail, and
/// overwrites the source.
fn overwritten_behind_a_failure(far: bool, call: &str, nth: u64) {
    let simulator = start();
    for code in CODES {
        let mut refused = 0;
        for seed in 0..SEEDS {
            start_anew(simulator, Settings { devices: 2, ..Settings::default() }, seed);
            let devices = [0, 1].map(|ordinal| Cuda::device(ordinal).unwrap());
            let [mut from, mut to] = [pool(&devices[0]), pool(&devices[usize::from(far)])];
            refused += u64::from(!overwrite(simulator, [&mut from, &mut to], (call, nth, code)));
            drop((from, to, devices));
            assert_eq!(Cuda::retry_deferred_frees(), 0, "code {code}: {}", Cuda::deferred_frees());
            simulator.assert_clean();
            simulator.assert_no_leaks();
        }
        println!("FIGURE: {call} number {nth} returns {code}: {refused} of {SEEDS} fills refused");
    }
}

/// Returns `true` if the source could be overwritten. In either case, the copy contains the old
/// elements.
fn overwrite(
    simulator: Simulator,
    [from, to]: [&mut Pool<Cuda>; 2],
    (call, nth, code): (&str, u64, u32),
) -> bool {
    let (from, to) = (from.scope(), to.scope());
    let mut source = from.acquire_filled::<u32, _>(N, 1);
    let mut copy = to.acquire_zeroed::<u32, _>(N);
    copy.copy_from(source.as_view()).unwrap();
    simulator.fail_call(call, nth, code);
    let filled = source.fill_with_value(9);
    simulator.forget_failures();
    assert_eq!(copy.copy_to_vec().unwrap(), [1; N], "{call} {nth} {code}");
    assert_eq!(source.copy_to_vec().unwrap(), [if filled.is_ok() { 9 } else { 1 }; N]);
    filled.is_ok()
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_event_that_is_not_recorded_fails_the_use() {
    overwritten_behind_a_failure(false, "cuEventRecord", 1);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_event_that_is_not_recorded_fails_the_use_of_another_device() {
    overwritten_behind_a_failure(true, "cuEventRecord", 1);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_event_that_is_not_waited_for_fails_the_use() {
    overwritten_behind_a_failure(false, "cuStreamWaitEvent", 1);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_context_that_is_not_notified_fails_no_order() {
    overwritten_behind_a_failure(false, "cuCtxGetCurrent", 4);
}

/// cudarc copies to an unknown stream of the other device. Afterwards, that device's context cannot
/// be retained, made current, or waited for.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_device_that_is_not_waited_for_fails_the_use() {
    let simulator = start();
    let calls = [
        "cuDevicePrimaryCtxRetain",
        "cuDevicePrimaryCtxGetState",
        "cuDeviceGetCount",
        "cuCtxSetCurrent",
        "cuCtxSynchronize",
    ];
    for (call, code) in calls.into_iter().flat_map(|call| CODES.map(|code| (call, code))) {
        for seed in 0..SEEDS / 2 {
            start_anew(simulator, Settings { devices: 2, ..Settings::default() }, seed);
            let [near, far] = [0, 1].map(|ordinal| Cuda::device(ordinal).unwrap());
            let mut pool = pool(&near);
            let stream = far.context().new_stream().unwrap();
            let mut there = stream.alloc_zeros::<u32>(N).unwrap();
            let scope = pool.scope();
            let mut source = scope.acquire_filled::<u32, _>(N, 1);
            stream.memcpy_dtod(&source, &mut there).unwrap();
            simulator.fail_call(call, 1, code);
            let filled = source.fill_with_value(9);
            simulator.forget_failures();
            assert!(filled.is_err(), "{call} {code}");
            assert_eq!(stream.clone_dtoh(&there).unwrap(), [1; N], "{call} {code}");
            source.fill_with_value(9).unwrap();
            drop((source, there, stream));
            drop((pool, near, far));
            simulator.assert_clean();
            simulator.assert_no_leaks();
        }
    }
}

/// The guard of an unknown stream has recorded its event, or failed to; or the pool cannot
/// determine this.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn the_end_of_an_unknown_use_that_is_not_known_fails_or_waits() {
    let simulator = start();
    let calls = ["cuEventRecord", "cuEventElapsedTime", "cuStreamWaitEvent", "cuCtxSynchronize"];
    for (call, code) in calls.into_iter().flat_map(|call| CODES.map(|code| (call, code))) {
        for seed in 0..SEEDS {
            start_anew(simulator, Settings::default(), seed);
            let device = Cuda::device(0).unwrap();
            let mut pool = pool(&device);
            let other = device.context().new_stream().unwrap();
            let mut kept = other.alloc_zeros::<u32>(N).unwrap();
            other.synchronize().unwrap();
            let scope = pool.scope();
            let mut view = scope.acquire_filled::<u32, _>(N, 1);
            // The first of the two records is made by the pool, the second by the guard.
            simulator.fail_call(call, if call == "cuEventRecord" { 2 } else { 1 }, code);
            if call == "cuStreamWaitEvent" {
                simulator.forget_failures();
            }
            let copied = other.memcpy_dtod(&view, &mut kept).is_ok();
            if call == "cuStreamWaitEvent" {
                simulator.fail_call(call, 1, code);
            }
            let filled = view.fill_with_value(9);
            simulator.forget_failures();
            let _recorded = device.context().check_err();
            if copied {
                assert_eq!(other.clone_dtoh(&kept).unwrap(), [1; N], "{call} {code}");
            }
            assert_eq!(view.copy_to_vec().unwrap(), [if filled.is_ok() { 9 } else { 1 }; N]);
            drop((view, kept));
            drop((pool, other, device));
            assert_eq!(Cuda::retry_deferred_frees(), 0, "{call} {code}");
            simulator.assert_clean();
            simulator.assert_no_leaks();
        }
    }
}

/// An error code is no sufficient excuse for a failed free either: the free is deferred, and the
/// block is freed later.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_free_that_fails_with_the_code_of_a_context_that_is_gone_is_made_later() {
    let simulator = start();
    for code in CODES {
        for call in ["cuMemFreeAsync", "cuMemPoolDestroy", "cuEventDestroy_v2", "cuMemFreeHost"] {
            start_anew(simulator, Settings::default(), 0);
            let device = Cuda::device(0).unwrap();
            let other = device.context().new_stream().unwrap();
            register_stream(&other);
            let mut pool = pool(&device);
            {
                let scope = pool.scope();
                let mut view = scope.acquire_from(&[7_u8; N]);
                other.memset_zeros(&mut view).unwrap();
            }
            simulator.fail_call(call, 1, code);
            drop((pool, other, device));
            simulator.forget_failures();
            assert_eq!(
                Cuda::retry_deferred_frees(),
                0,
                "{call} {code}: {}",
                Cuda::deferred_frees()
            );
            simulator.assert_clean();
            simulator.assert_no_leaks();
        }
    }
}
