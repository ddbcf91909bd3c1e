//! A CUDA driver in software, for tests: `libcuda.so` as a library that needs no GPU.
//!
//! Memory holds real bytes, and kernels are interpreted from PTX. Operations wait in their streams
//! until a call forces them, then run in an order that a seed draws. Vector clocks find unordered
//! accesses, even if the data came out right.
//!
//! `ptx` reads modules, `kernel` runs their kernels, `printf` formats their output, and `world` is
//! everything else, all in safe Rust. `abi` is the C interface over it: the driver's calls, and the
//! `simcuda_*` calls by which tests control it. `docs/simulator.md` describes the model and its
//! limits.

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
