//! Kernels for the examples and tests of this project: those for CUDA as PTX with their launch
//! configurations, and some in WGSL ([`wgsl`]), for wgpu.
//!
//! The sources are in `cuda/`, and beside each is its PTX from a pinned compiler, so the user needs
//! no compiler. `cargo xtask kernels --check` compares the two.
//!
//! Each Rust module here, except `wgsl`, is a module of PTX. Its `MODULE` is the text. Each
//! [`Kernels`] has the names of one kernel by element type, with its effect, its parameters in
//! order, and its [`Launch`]. With cudarc:
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use cudarc::driver::{CudaContext, DriverError, LaunchConfig, PushKernelArg};
//! use cudarc::nvrtc::Ptx;
//! use pool_kernels::{Launch, elementwise};
//!
//! fn triple(context: &Arc<CudaContext>, numbers: &[f32]) -> Result<Vec<f32>, DriverError> {
//!     let stream = context.default_stream();
//!     let module = context.load_module(Ptx::from_src(elementwise::MODULE.text()))?;
//!     let scale = module.load_function(elementwise::SCALE.f32)?;
//!     let mut on_device = stream.clone_htod(numbers)?;
//!     let Launch { grid: grid_dim, block: block_dim } = Launch::over_elements(numbers.len());
//!     let launch = LaunchConfig { grid_dim, block_dim, shared_mem_bytes: 0 };
//!     let count = numbers.len() as u64;
//!     // SAFETY: the parameters are those of `SCALE`, and the count is that of the slice.
//!     unsafe { stream.launch_builder(&scale).arg(&3.0_f32).arg(&mut on_device).arg(&count).launch(launch) }?;
//!     stream.clone_dtoh(&on_device)
//! }
//! ```
//!
//! Rules for all CUDA kernels. Counts, lengths and rows are `u64` and may be 0. Matrices are
//! row-major and contiguous. Pointers are to elements and need the alignment of an element. No
//! kernel uses dynamic shared memory, and none accesses other memory than its parameters describe.
//! A *wide* number is an `f32` for elements of 16 and 32 bits, and an `f64` for those of 64.
//! Kernels compute in the wide type, and round once more for a result of 16 bits.

#![forbid(unsafe_code)]

pub mod elementwise;
pub mod gather;
mod kernel;
mod launch;
pub mod matrix;
mod module;
pub mod reduction;
pub mod rows;
pub mod sparse;
pub mod transformer;
pub mod wgsl;

pub use kernel::{FloatKernels, Kernels};
pub use launch::Launch;
pub use module::{MODULES, Module};
