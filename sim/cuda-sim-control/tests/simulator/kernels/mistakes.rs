//! Deliberate mistakes. Each is compared with a program that differs only in the mistake.

use cuda_sim_control::Mistake;
use cudarc::driver::sys::{self, CUresult};
use driver_conformance::driver;

use super::{SEEDS, Size, find, found_in, join, kernel, launch, load, module_text, stream, wait};
use crate::support::{filled, start, with_seed};

const SUCCESS: CUresult = CUresult::CUDA_SUCCESS;
const ILLEGAL_ADDRESS: CUresult = CUresult::CUDA_ERROR_ILLEGAL_ADDRESS;

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_kernel_that_leaves_its_memory() {
    let simulator = start();
    for access in ["ld.global.u32 %r3, [%l4];", "st.global.u32 [%l4], %i;"] {
        let program = |elements: usize, answer: CUresult| {
            let span = filled(elements * 4, 1).unwrap();
            let (stream, kernel) = (stream(), kernel(access));
            assert_eq!(launch(kernel, Size(2, 32, 0), stream, [span.address(), 0]), SUCCESS);
            assert_eq!(wait(stream), answer);
        };
        assert_eq!(
            found_in(simulator, Mistake::OutOfBounds, || program(63, ILLEGAL_ADDRESS)),
            SEEDS
        );
        let report = simulator.reports()[0].to_string();
        let told =
            ["kernel k, block (1, 0, 0), thread (31, 0, 0), line", access.trim_end_matches(';')];
        assert!(told.iter().all(|part| report.contains(part)), "{report}");
        assert_eq!(found_in(simulator, Mistake::OutOfBounds, || program(64, SUCCESS)), 0);
    }
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_kernel_that_comes_after_its_memory() {
    let simulator = start();
    let store = "st.global.u32 [%l4], %i;";
    let program = |frees_first: bool| {
        let span = filled(256, 1).unwrap();
        let (stream, kernel) = (stream(), kernel(store));
        if frees_first {
            driver::free(span).unwrap();
        }
        assert_eq!(launch(kernel, Size(1, 64, 0), stream, [span.address(), 0]), SUCCESS);
        assert_eq!(wait(stream), if frees_first { ILLEGAL_ADDRESS } else { SUCCESS });
        if !frees_first {
            driver::free(span).unwrap();
        }
    };
    assert_eq!(found_in(simulator, Mistake::UseAfterFree, || program(true)), SEEDS);
    assert_eq!(found_in(simulator, Mistake::UseAfterFree, || program(false)), 0);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn memory_that_is_freed_in_stream_order_while_a_kernel_waits() {
    let simulator = start();
    let program = |same_stream: bool| {
        let (one, two, kernel) = (stream(), stream(), kernel("st.global.u32 [%l4], %i;"));
        let mut address = 0;
        // SAFETY: the output variable outlives the call, and the simulator checks the handle.
        assert_eq!(unsafe { sys::cuMemAllocAsync(&raw mut address, 256, one) }, SUCCESS);
        join(two, one);
        assert_eq!(launch(kernel, Size(1, 64, 0), one, [address, 0]), SUCCESS);
        // SAFETY: the simulator checks the address and the handle.
        let freed = unsafe { sys::cuMemFreeAsync(address, if same_stream { one } else { two }) };
        assert_eq!(freed, SUCCESS);
        // The kernel may run after the free, in which case it finds no memory.
        let answers = [wait(one), wait(two)];
        assert!(!same_stream || answers == [SUCCESS; 2]);
    };
    for same_stream in [true, false] {
        let mut found = 0;
        for seed in 0..SEEDS {
            with_seed(simulator, seed);
            program(same_stream);
            found += u64::from(!simulator.reports().is_empty());
        }
        assert_eq!(found, if same_stream { 0 } else { SEEDS });
    }
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_race_between_blocks() {
    let simulator = start();
    let program = |body: &str| {
        let span = filled(4, 0).unwrap();
        let (stream, kernel) = (stream(), kernel(body));
        assert_eq!(launch(kernel, Size(8, 1, 0), stream, [span.address(), 0]), SUCCESS);
        assert_eq!(wait(stream), SUCCESS);
    };
    let plain = "ld.global.u32 %r3, [%l1]; add.u32 %r3, %r3, 1; st.global.u32 [%l1], %r3;";
    assert_eq!(found_in(simulator, Mistake::Race, || program(plain)), SEEDS);
    assert_eq!(found_in(simulator, Mistake::Race, || program("red.global.add.u32 [%l1], 1;")), 0);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_race_between_streams() {
    let simulator = start();
    let program = |joined: bool, reads: bool| {
        let span = filled(256, 0).unwrap();
        let (one, two) = (stream(), stream());
        let first = kernel("st.global.u32 [%l4], %i;");
        let body = if reads { "ld.global.u32 %r3, [%l4];" } else { "st.global.u32 [%l4], 7;" };
        let second = kernel(body);
        assert_eq!(launch(first, Size(1, 64, 0), one, [span.address(), 0]), SUCCESS);
        if joined {
            join(two, one);
        }
        assert_eq!(launch(second, Size(1, 64, 0), two, [span.address(), 0]), SUCCESS);
        assert_eq!([wait(two), wait(one)], [SUCCESS; 2]);
    };
    for reads in [true, false] {
        assert_eq!(found_in(simulator, Mistake::Race, || program(false, reads)), SEEDS);
        assert_eq!(found_in(simulator, Mistake::Race, || program(true, reads)), 0);
    }
    // Only the accessed bytes matter: accesses to even and to odd elements do not race.
    let halves = |_: ()| {
        let span = filled(512, 0).unwrap();
        let (one, two) = (stream(), stream());
        let even = kernel("add.u64 %l5, %l4, %l3; st.global.u32 [%l5], %i;");
        for (stream, start) in [(one, span.address()), (two, span.address() + 4)] {
            assert_eq!(launch(even, Size(1, 63, 0), stream, [start, 0]), SUCCESS);
        }
        assert_eq!([wait(two), wait(one)], [SUCCESS; 2]);
    };
    assert_eq!(found_in(simulator, Mistake::Race, || halves(())), 0);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_copy_that_does_not_wait_for_a_kernel() {
    let simulator = start();
    let program = |joined: bool| {
        let (span, other) = (filled(256, 0).unwrap(), filled(256, 1).unwrap());
        let (one, two, kernel) = (stream(), stream(), kernel("st.global.u32 [%l4], %i;"));
        assert_eq!(launch(kernel, Size(1, 64, 0), one, [span.address(), 0]), SUCCESS);
        if joined {
            join(two, one);
        }
        // SAFETY: the simulator checks addresses and handles.
        let copied =
            unsafe { sys::cuMemcpyDtoDAsync_v2(other.address(), span.address(), 256, two) };
        assert_eq!(copied, SUCCESS);
        assert_eq!([wait(two), wait(one)], [SUCCESS; 2]);
    };
    assert_eq!(found_in(simulator, Mistake::Race, || program(false)), SEEDS);
    assert_eq!(found_in(simulator, Mistake::Race, || program(true)), 0);
}

/// Each thread stores its number in shared memory and reads the number of another thread.
fn exchange(between: &str) -> String {
    format!(
        "mul.lo.u32 %r3, %t, 4; mov.u32 %r4, open; add.u32 %r3, %r3, %r4; st.shared.u32 [%r3], %t;
        {between}
        xor.b32 %r5, %t, 33; mul.lo.u32 %r5, %r5, 4; add.u32 %r5, %r5, %r4;
        ld.shared.u32 %r6, [%r5]; st.global.u32 [%l4], %r6;"
    )
}

fn run_exchange(between: &str) -> CUresult {
    let span = filled(256, 0).unwrap();
    let (stream, kernel) = (stream(), kernel(&exchange(between)));
    assert_eq!(launch(kernel, Size(1, 64, 256), stream, [span.address(), 0]), SUCCESS);
    wait(stream)
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_barrier_that_is_missing() {
    let simulator = start();
    let program = |between: &str| assert_eq!(run_exchange(between), SUCCESS);
    assert_eq!(found_in(simulator, Mistake::Race, || program("")), SEEDS);
    assert_eq!(found_in(simulator, Mistake::Race, || program("bar.sync 0;")), 0);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_barrier_in_one_branch_alone() {
    let simulator = start();
    let divergent = "setp.lt.u32 %p1, %t, 32; @%p1 bra A; bar.sync 0; bra B; A: bar.sync 0; B:";
    let whole = "setp.lt.u32 %p1, %t, 64; @!%p1 bra B; bar.sync 0; B:";
    let broken = || assert_eq!(run_exchange(divergent), CUresult::CUDA_ERROR_LAUNCH_FAILED);
    assert_eq!(found_in(simulator, Mistake::DivergentBarrier, broken), SEEDS);
    let right = || assert_eq!(run_exchange(whole), SUCCESS);
    assert_eq!(found_in(simulator, Mistake::DivergentBarrier, right), 0);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_instruction_that_is_not_known() {
    let simulator = start();
    with_seed(simulator, 0);
    let text = module_text(&[("right", "bar.sync 0;"), ("k", "\n  tensormap.replace %l1;")]);
    assert_eq!(load(&text), Err(CUresult::CUDA_ERROR_INVALID_PTX));
    let reports = simulator.reports();
    let line = 1 + text.lines().position(|line| line.contains("tensormap")).unwrap();
    let told = format!("invalid PTX: module: line {line}, `tensormap.replace %l1;`: ");
    assert!(reports.len() == 1 && reports[0].to_string().starts_with(&told), "{reports:?}");
    assert_eq!(reports[0].mistake(), Mistake::InvalidPtx);
    simulator.forget_reports();
    find(load(&module_text(&[("k", "bar.sync 0;")])).unwrap(), c"k");
    simulator.assert_clean();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_kernel_that_does_not_end() {
    let simulator = start();
    with_seed(simulator, 0);
    let (stream, kernel) = (stream(), kernel("A: bra A;"));
    assert_eq!(launch(kernel, Size(1, 1, 0), stream, [0, 0]), SUCCESS);
    let timeout = CUresult::CUDA_ERROR_LAUNCH_TIMEOUT;
    assert_eq!(wait(stream), timeout);
    // The context can no longer be used.
    assert_eq!(launch(kernel, Size(1, 1, 0), stream, [0, 0]), timeout);
    assert_eq!(simulator.reports()[0].mistake(), Mistake::KernelFault);
}
