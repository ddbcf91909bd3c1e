//! Tests of CUDA code without a GPU: one line starts a simulated driver, and whoever asks for `libcuda.so` gets it.
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
//! Bytes are real, kernels are interpreted from their PTX, what is asynchronous runs in an order that a seed draws. When
//! the process ends, what the simulator found is printed, and the process fails: on a *race*, between streams and inside
//! kernels, on a *stale access* (after a free, out of bounds, by a destroyed handle), and on a *leak*.
//!
//! It is no GPU: it runs PTX and no machine code, hence no cuBLAS and no cuDNN; it is slow; and it proves nothing about
//! speed. The README says what it costs and how it works.
//!
//! # Three ways to start
//!
//! | who decides | how |
//! |---|---|
//! | the test | [`start()`], or [`start_with`] for another machine; again in each test, which is the same simulator |
//! | the environment | `use cuda_sim_test as _;` in each test program, and `CUDA_SIM_START=1`: without it, the tests use the driver that is installed |
//! | both | a call of [`running`] says whether there is a simulator |
//!
//! A seed, the settings and the reports belong to the process. With [cargo-nextest](https://nexte.st) each test is one.
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
//! | `CUDA_SIM_OTHER_ANSWERS` | `1`: what NVIDIA's documentation leaves open is answered the other way | `0` |
//! | `CUDA_SIM_LEAKS` | `fail`, `print` or `ignore` what was not given back when the process ends | `fail` |
//! | `CUDA_SIM_PRINT_REPORTS` | `1`: each report is also printed when it is made | `0` |
//!
//! A value that a variable cannot have, and a variable `CUDA_SIM_…` that there is not, is a [`StartError`] that names it
//! and its value; with `CUDA_SIM_START=1` it is printed, and the process ends with [`EXIT_CODE`].
//!
//! # The end of the process
//!
//! A function that the C library calls at the end of the process runs what is still pending, prints what was found on
//! the standard error, and ends a process that would have ended with 0 with [`EXIT_CODE`] instead, by `_exit`: what was
//! to be called at the end and was registered before the simulator was started is then not called. A process that fails
//! by itself keeps its code. Nothing is printed by a process that is aborted or killed, nor by a child that `fork` made.

// Layering: a module may import what follows its colon. `cargo xtask imports` checks it, `--list` prints it anew.
//
// error, image, options: nothing
// loader: error
// exit: error, loader, options
// running: options
// simulator: running
// start: error, exit, image, loader, options, running, simulator
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
mod running;
mod simulator;
mod start;

pub use cuda_sim::settings::{Fault, SettingError, Settings};
pub use error::StartError;
pub use exit::EXIT_CODE;
pub use simulator::Simulator;
pub use start::{running, start, start_with, try_start, try_start_with};
