//! A CUDA driver in software, for tests. The library replaces `libcuda.so` and needs no GPU.
//!
//! Memory holds real bytes, and kernels are interpreted from PTX. Operations wait in their streams
//! until a call forces them, and then run in a random order determined by a seed. Vector clocks
//! detect unordered accesses, even if the resulting data is correct.
//!
//! `ptx` parses modules, `kernel` runs their kernels, and `printf` formats their output. `world`
//! models the rest of the driver. All four are safe Rust. `abi` provides the C interface: the
//! driver's calls, and the `simcuda_*` calls with which tests control the simulator.
//! `docs/simulator.md` describes the model and its limits.

// Layering: a module may import what follows its colon. `cargo xtask imports` checks it, `--list` prints it anew.
//
// code: nothing
// printf: nothing
// ptx: nothing
// random: nothing
// report: nothing
// kernel: code, printf, ptx, random, report
// world: code, kernel, ptx, random, report
// settings: world
// abi: code, settings, world

mod abi;
mod code;
mod kernel;
mod printf;
mod ptx;
mod random;
mod report;
pub mod settings;
mod world;

pub use abi::{
    Findings, draw_anew, fail_call, forget_reports, is_initialized, last_findings, leaks, reports,
    start_anew, symbols,
};
