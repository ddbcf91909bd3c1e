//! Tests CUDA code without a GPU. One line starts a simulated driver, and `libcuda.so` then
//! resolves to it.
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
//! an order that a seed determines. When the process ends, it prints the findings, and fails if
//! there are any. Findings are *races* between streams and inside kernels, *stale accesses* (after
//! a free, out of bounds, through a destroyed handle) and *leaks*.
//!
//! The simulator is not a GPU. It runs PTX but no machine code, so cuBLAS and cuDNN are not
//! available. It is slow, and its speed says nothing about the speed of a GPU. The README describes
//! what it costs and how it works.
//!
//! # Three ways to start
//!
//! | who decides | how |
//! |---|---|
//! | the test | call [`start()`], or [`start_with`] for other settings; later calls in the process return the same simulator |
//! | the environment | write `use cuda_sim_test as _;` in each test program and set `CUDA_SIM_START=1`; without the variable, the tests use the installed driver |
//! | both | call [`running`], which returns the simulator if there is one |
//!
//! The seed, the settings and the reports belong to the process. With
//! [cargo-nextest](https://nexte.st), each test runs in its own process.
//!
//! # Settings
//!
//! | variable | meaning | default |
//! |---|---|---|
//! | `CUDA_SIM_START` | `1` starts the simulator before `main` | `0` |
//! | `CUDA_SIM_SEED` | the number that determines the order of asynchronous work | 0 |
//! | `CUDA_SIM_ORDERS` | the number of consecutive seeds that [`Simulator::each_order`] tries, 1 to 1,000,000 | 1 |
//! | `CUDA_SIM_FAULTS` | calls that fail, separated by commas: with `cuMemAllocAsync:3:2` the third of these calls returns 2, out of memory; `*` matches any call | none |
//! | `CUDA_SIM_DEVICES` | the number of devices, 1 to 4 | 1 |
//! | `CUDA_SIM_BYTES` | the memory of each device in bytes, 2 MiB to 1 TiB | 1 GiB |
//! | `CUDA_SIM_DRIVER_VERSION` | the CUDA version of the driver, `12080` for 12.8; it refuses newer calls | 13000 |
//! | `CUDA_SIM_INSTRUCTIONS` | the number of instructions that a warp may execute in one block before it is treated as an endless loop | 8,388,608 |
//! | `CUDA_SIM_BACKGROUND` | `1` runs work in a background thread, like a device; no seed reproduces the order | `0` |
//! | `CUDA_SIM_OTHER_ANSWERS` | `1` chooses the other alternative wherever NVIDIA's documentation leaves the behaviour open | `0` |
//! | `CUDA_SIM_LEAKS` | `fail`, `print` or `ignore` objects that have not been freed when the process ends | `fail` |
//! | `CUDA_SIM_PRINT_REPORTS` | `1` also prints each report immediately | `0` |
//!
//! An invalid value or an unknown variable `CUDA_SIM_…` is a [`StartError`] that contains the
//! variable's name and value. With `CUDA_SIM_START=1`, the error is printed and the process exits
//! with [`EXIT_CODE`].
//!
//! # The end of the process
//!
//! When the process ends, the C library calls a function that runs pending work and prints the
//! findings to standard error. If there are any, a process that would exit with 0 exits with
//! [`EXIT_CODE`] instead, by calling `_exit`. Exit functions that were registered before the
//! simulator was started are not called in this case. A failing process keeps its exit code. An
//! aborted or killed process prints nothing, and neither does a forked child.

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
