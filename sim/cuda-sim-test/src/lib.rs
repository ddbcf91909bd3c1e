//! Tests of CUDA code without a GPU: one line starts a simulated driver, which `libcuda.so` then
//! resolves to.
//!
//! ```
//! use cudarc::driver::{CudaContext, DriverError};
//!
//! # fn doubled_twice() -> Result<(), DriverError> {
//! cuda_sim_test::start(); // before the first call of cudarc
//! let stream = CudaContext::new(0)?.default_stream();
//! let numbers = stream.clone_htod(&[1.0_f32, 2.0])?;
//! assert_eq!(stream.clone_dtoh(&numbers)?, [1.0, 2.0]);
//! # Ok(())
//! # }
//! # doubled_twice().unwrap();
//! ```
//!
//! Memory holds real bytes, kernels are interpreted from their PTX, and asynchronous work runs in
//! an order that a seed draws. At its end, the process prints the findings and fails on any.
//! Findings are *races*, between streams and inside kernels, *stale accesses* (after a free, out of
//! bounds, by a destroyed handle) and *leaks*.
//!
//! It is not a GPU. It runs PTX and no machine code, so it has no cuBLAS and no cuDNN. It is slow,
//! and proves nothing about speed. The README describes its cost and how it works.
//!
//! # Three ways to start
//!
//! | who decides | how |
//! |---|---|
//! | the test | [`start()`], or [`start_with`] for another machine; again in each test, which is the same simulator |
//! | the environment | `use cuda_sim_test as _;` in each test program, and `CUDA_SIM_START=1`: without it, the tests use the driver that is installed |
//! | both | a call of [`running`] returns the simulator, if there is one |
//!
//! A seed, the settings and the reports belong to the process. With
//! [cargo-nextest](https://nexte.st) each test is one process.
//!
//! # Settings
//!
//! | variable | says | by default |
//! |---|---|---|
//! | `CUDA_SIM_START` | `1`: the simulator is started before `main` | `0` |
//! | `CUDA_SIM_SEED` | a number that draws the order of what is asynchronous | 0 |
//! | `CUDA_SIM_ORDERS` | how many seeds [`Simulator::each_order`] tries, from that one on, 1 to 1,000,000 | 1 |
//! | `CUDA_SIM_FAULTS` | calls that fail: `cuMemAllocAsync:3:2` has the third of them answer 2, out of memory; `*` is any call; with commas between several | none |
//! | `CUDA_SIM_DEVICES` | 1 to 4 devices | 1 |
//! | `CUDA_SIM_BYTES` | the memory of each, in bytes, 2 MiB to 1 TiB | 1 GiB |
//! | `CUDA_SIM_DRIVER_VERSION` | a driver for that CUDA, `12080` for 12.8, which refuses what came later | 13000 |
//! | `CUDA_SIM_INSTRUCTIONS` | instructions of a warp in one block, before it is taken for one without an end | 8,388,608 |
//! | `CUDA_SIM_BACKGROUND` | `1`: a thread runs what can run, as a device does; no seed gives an order again | `0` |
//! | `CUDA_SIM_OTHER_ANSWERS` | `1`: behaviour that NVIDIA's documentation leaves open is the other one | `0` |
//! | `CUDA_SIM_LEAKS` | `fail`, `print` or `ignore` what was not given back when the process ends | `fail` |
//! | `CUDA_SIM_PRINT_REPORTS` | `1`: each report is also printed when it is made | `0` |
//!
//! An invalid value, and an unknown variable `CUDA_SIM_…`, is a [`StartError`] with its name and
//! value. With `CUDA_SIM_START=1` it is printed, and the process exits with [`EXIT_CODE`].
//!
//! # The end of the process
//!
//! At the end of the process, the C library calls a function that runs pending work and prints the
//! findings to the standard error. If there are any, a process that would exit with 0 exits with
//! [`EXIT_CODE`] instead, by `_exit`. Exit functions that were registered before the start of the
//! simulator are then not called. A failing process keeps its code. An aborted or killed process
//! prints nothing, and neither does a forked child.

// Layering: a module may import what follows its colon. `cargo xtask imports` checks it, `--list` prints it anew.
//
// error, image, options: nothing
// loader: error
// exit: error, loader, options
// state: options
// simulator: state
// start: error, exit, image, loader, options, simulator, state
// before_main: exit, loader, options, start

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod before_main;
mod error;
mod exit;
mod image;
#[cfg_attr(all(target_os = "linux", target_env = "gnu"), path = "loader.rs")]
#[cfg_attr(not(all(target_os = "linux", target_env = "gnu")), path = "no_loader.rs")]
mod loader;
mod options;
mod simulator;
mod start;
mod state;

pub use cuda_sim::settings::{Fault, SettingError, Settings};
pub use error::StartError;
pub use exit::EXIT_CODE;
pub use simulator::Simulator;
pub use start::{running, start, start_with, try_start, try_start_with};
