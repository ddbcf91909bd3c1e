//! Planned failures, call counts and the log.

use std::ptr::null_mut;

use cuda_sim_control::{Mistake, Settings};
use cudarc::driver::sys::CUresult;
use cudarc::driver::{CudaContext, DriverError};
use driver_conformance::driver::{self, Stream};

use crate::support::{start, with_seed};

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn the_nth_call_of_a_name_fails() {
    let simulator = start();
    with_seed(simulator, 0);
    simulator.fail_call("cuMemAlloc_v2", 3, 2);
    let answers: Vec<bool> = (0..5).map(|_| driver::allocate(64).is_ok()).collect();
    assert_eq!(answers, [true, true, false, true, true]);
    assert_eq!(simulator.calls("cuMemAlloc_v2"), 5);
    let codes: Vec<u32> = simulator
        .log()
        .iter()
        .filter(|call| call.name == "cuMemAlloc_v2")
        .map(|call| call.code)
        .collect();
    assert_eq!(codes, [0, 0, 2, 0, 0]);
}

/// A typical program that returns errors to its caller.
fn program() -> Result<Vec<u32>, DriverError> {
    let context = CudaContext::new(0)?;
    let (stream, other) = (context.new_stream()?, context.new_stream()?);
    let first = stream.clone_htod(&[1_u32, 2, 3, 4])?;
    other.join(&stream)?;
    let mut second = other.alloc_zeros::<u32>(4)?;
    other.memcpy_dtod(&first, &mut second)?;
    let result = other.clone_dtoh(&second)?;
    other.synchronize()?;
    context.check_err()?;
    Ok(result)
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn every_call_of_a_program_may_fail() {
    let simulator = start();
    let mut failed = 0;
    for nth in 1.. {
        assert!(simulator.reset(Settings::default()));
        simulator.fail_any_call(nth, CUresult::CUDA_ERROR_OUT_OF_MEMORY as u32);
        let outcome = program();
        let calls = simulator.all_calls();
        simulator.forget_failures();
        // If recording an event fails, cudarc continues, so a later free may race. No failure leads
        // cudarc to use an invalid address or handle.
        for report in simulator.reports() {
            assert_eq!(report.mistake(), Mistake::Race, "call {nth}: {report}");
        }
        if calls < nth {
            simulator.assert_clean();
            assert_eq!(outcome.unwrap(), [1, 2, 3, 4]);
            break;
        }
        failed += 1;
    }
    println!("{failed} single failures");
    assert!(failed > 20);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_call_that_is_not_modelled_says_so() {
    let simulator = start();
    with_seed(simulator, 0);
    assert!(simulator.models("cuLaunchKernel") && !simulator.models("cuLaunchCooperativeKernel"));
    let (function, stream, none) = (null_mut(), null_mut(), null_mut());
    // SAFETY: the call is refused before it reads any argument.
    let refused = unsafe {
        cudarc::driver::sys::cuLaunchCooperativeKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, none)
    };
    assert_eq!(refused, CUresult::CUDA_ERROR_NOT_SUPPORTED);
    Stream::non_blocking().unwrap().synchronize().unwrap();
}
