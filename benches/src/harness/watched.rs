//! Runs under callgrind. Each case runs 320 passes and then 640, and callgrind writes its counts
//! after each run. The difference is exactly the count for 320 passes, without the code around the
//! loop. A request to callgrind is an instruction sequence that valgrind recognises and that has no
//! effect on a processor; valgrind's header documents it.

use std::process::ExitCode;

use crate::case::{Case, Prepared};

/// A whole number of cycles through every table of lengths and shapes.
const PASSES: u64 = 320;

/// Runs every case of the small workloads. Instruction counts say little about the large workloads.
pub(super) fn run(cases: &[Case]) -> ExitCode {
    if !cfg!(target_arch = "x86_64") {
        eprintln!("instructions are counted only on x86_64");
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

/// This function is not inlined, because both runs must execute the same code.
#[inline(never)]
fn count(prepared: &mut Prepared, passes: u64, label: &str) {
    request(ZERO_STATS, std::ptr::null());
    prepared(passes);
    request(DUMP_STATS_AT, label.as_ptr());
}

/// `CALLGRIND_ZERO_STATS` and `CALLGRIND_DUMP_STATS_AT` from valgrind's `callgrind.h`: the two
/// letters of the tool, followed by a number.
const ZERO_STATS: usize = 0x4354_0001;
const DUMP_STATS_AT: usize = 0x4354_0003;

#[cfg(target_arch = "x86_64")]
fn request(number: usize, text: *const u8) {
    let arguments = [number, text.addr(), 0, 0, 0, 0];
    // SAFETY: the rotations add up to 128 bits, and the exchange uses the same register twice, so
    // nothing changes. Under valgrind, the tool reads the arguments and the text, which remain
    // alive.
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
