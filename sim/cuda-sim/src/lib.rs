//! A CUDA driver in software, for tests: `libcuda.so` as a library that needs no GPU.
//!
//! Bytes are real, order is adversarial, and mistakes are reported: operations wait in their streams
//! until something forces them, then run in an order that a seed draws; vector clocks find accesses
//! that nothing orders, whether or not the data came out wrong. Kernels are PTX, interpreted.
//!
//! `ptx` reads modules, `kernel` runs their kernels, `printf` writes what they print, and `world` is everything else, all in safe Rust. `abi` is the C interface over it: the calls of the
//! driver, and those named `simcuda_*` with which tests control it. What is modelled, and what none
//! of it can show, is in `docs/simulator.md`.

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
