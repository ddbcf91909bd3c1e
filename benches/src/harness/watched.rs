//! Runs for callgrind. Each case runs 320 passes and then 640, and callgrind writes its counts
//! after each. The difference is exactly that of 320 passes, without the code around the loop. The
//! requests are an instruction sequence that valgrind recognises and a processor ignores;
//! valgrind's header documents it.

use std::process::ExitCode;

use crate::case::{Case, Prepared};

/// A whole number of rounds of every table of lengths and shapes.
const PASSES: u64 = 320;

/// Runs every case of the small workloads; instruction counts are meaningless for the large ones.
pub(super) fn run(cases: &[Case]) -> ExitCode {
    if !cfg!(target_arch = "x86_64") {
        eprintln!("instructions are counted on x86_64 only");
        return ExitCode::FAILURE;
    }
    println!("{PASSES}");
    for case in cases.iter().filter(|case| !matches!(case.workload, "real work" | "growth")) {
        let Case { workload, variant, column, .. } = case;
        let labels = [1, 2].map(|times| format!("{times}|{workload}|{variant}|{column}\0"));
        let mut prepared = (case.prepare)();
        count(&mut prepared, PASSES, &labels[0]);
        count(&mut prepared, 2 * PASSES, &labels[1]);
    }
    ExitCode::SUCCESS
}

/// Not inlined: both runs must use the same code.
#[inline(never)]
fn count(prepared: &mut Prepared, passes: u64, label: &str) {
    request(ZERO_STATS, std::ptr::null());
    prepared(passes);
    request(DUMP_STATS_AT, label.as_ptr());
}

/// `CALLGRIND_ZERO_STATS` and `CALLGRIND_DUMP_STATS_AT` of valgrind's `callgrind.h`: the tool's two
/// letters, then a number.
const ZERO_STATS: usize = 0x4354_0001;
const DUMP_STATS_AT: usize = 0x4354_0003;

#[cfg(target_arch = "x86_64")]
fn request(number: usize, text: *const u8) {
    let arguments = [number, text.addr(), 0, 0, 0, 0];
    // SAFETY: the rotations add up to 128 bits and the exchange is of a register with itself, so
    // nothing changes. Under valgrind, the tool reads the arguments and the text, which stay alive.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") arguments.as_ptr(),
            inout("rdx") 0_usize => _,
            options(nostack),
        );
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn request(_: usize, _: *const u8) {}
