//! Runs the acceptance cases and the random programs for all backends with device memory.

use std::cell::Cell;

use cuda_sim_control::Settings;
use device_tests::{CudaProbe, StackedCudaProbe};
use pool_conformance::cases::{Ending, all};
use pool_conformance::programs::{run_random_dynamic, run_random_lexical};
use pool_conformance::{BackendProbe, run_all};
use pool_core::PoolView;
use pool_cuda::{Cuda, CudaDevice};

use crate::support::{in_many_orders, orders, start, start_anew};

/// The number of programs. Each makes hundreds of calls to the simulated driver, which are the same
/// in every order.
const PROGRAMS: u32 = 60;

/// Runs the acceptance cases. Only the first order includes all of them: the cases with long arrays
/// copy or fill many bytes per call, but otherwise make the same calls as the other cases.
fn run_cases<P: BackendProbe>(probe: &P, is_first: bool) {
    if is_first {
        return run_all(probe);
    }
    for case in all::<P>().into_iter().filter(|case| !case.is_long()) {
        match case.run(probe) {
            Ending::Passed | Ending::Skipped(_) => {}
            ending => panic!("case {}: {ending:?}", case.name()),
        }
    }
}

/// Runs a program in one twentieth of the orders.
fn in_some_orders(program: impl Fn(&CudaDevice)) {
    let simulator = start();
    for order in 0..orders().div_ceil(20) {
        start_anew(simulator, Settings::default(), order);
        let device = Cuda::device(0).unwrap();
        program(&device);
        drop(device);
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn cuda_passes_every_case() {
    let first = Cell::new(true);
    in_many_orders(|device| run_cases(&CudaProbe::new(device.clone()), first.replace(false)));
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn stacked_cuda_passes_every_case() {
    let first = Cell::new(true);
    in_many_orders(|device| {
        run_cases(&StackedCudaProbe::new(device.clone()), first.replace(false));
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn plain_allocation_passes_every_case() {
    let simulator = start();
    for order in 0..orders() {
        start_anew(simulator, Settings::default(), order);
        let device = Cuda::device(0).unwrap().without_memory_pool();
        run_cases(&CudaProbe::new(device.clone()), order == 0);
        run_cases(&StackedCudaProbe::new(device.clone()), order == 0);
        drop(device);
        simulator.assert_clean();
        simulator.assert_no_leaks();
        assert!(simulator.calls("cuMemFree_v2") > 0);
        assert_eq!(simulator.calls("cuMemAllocFromPoolAsync"), 0);
    }
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn random_lexical_programs_agree_with_the_model() {
    in_some_orders(|device| {
        let tally = run_random_lexical(PROGRAMS, || CudaProbe::new(device.clone()));
        assert_eq!(tally.programs, u64::from(PROGRAMS));
        let tally = run_random_lexical(PROGRAMS, || StackedCudaProbe::new(device.clone()));
        assert_eq!(tally.programs, u64::from(PROGRAMS));
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn random_dynamic_programs_agree_with_the_model() {
    in_some_orders(|device| {
        let tally = run_random_dynamic(PROGRAMS, || CudaProbe::new(device.clone()));
        assert_eq!(tally.programs, u64::from(PROGRAMS));
        let tally = run_random_dynamic(PROGRAMS, || StackedCudaProbe::new(device.clone()));
        assert_eq!(tally.programs, u64::from(PROGRAMS));
    });
}

/// Runs the acceptance cases whose outcome could depend on the device's order.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn what_an_outer_scope_holds_survives_in_many_orders() {
    in_many_orders(|device| {
        let mut pool = crate::support::pool(device);
        let mut outer = pool.scope();
        let first = outer.acquire_filled(1000, 1.5_f64);
        for round in 0_u32..8 {
            let mut inner = outer.scope();
            let second = inner.acquire_filled(500 + 300 * round as usize, round);
            {
                let innermost = inner.scope();
                let third = innermost.acquire_from(&[7_u8; 77]);
                assert_eq!(third.copy_to_vec().unwrap(), [7; 77]);
            }
            let again = inner.acquire_zeroed::<u16, _>(77);
            assert_eq!(again.copy_to_vec().unwrap(), [0; 77]);
            assert!(second.copy_to_vec().unwrap().iter().all(|element| *element == round));
        }
        let more = outer.acquire_filled(1000, 2.5_f64);
        assert_ne!(more.address(), first.address());
        assert_eq!(first.copy_to_vec().unwrap(), [1.5; 1000]);
        assert_eq!(more.copy_to_vec().unwrap(), [2.5; 1000]);
    });
}
