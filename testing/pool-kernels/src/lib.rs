//! Kernels for the examples and tests of this project: those for CUDA as PTX, and how each is launched; and some in
//! WGSL ([`wgsl`]), for wgpu.
//!
//! The sources lie in `cuda/`, and beside each the PTX that a pinned compiler gives for it, so nothing
//! is compiled where kernels run. `cargo xtask kernels --check` holds that the two belong together.
//!
//! A Rust module here, but `wgsl`, stands for a module of PTX. Its `MODULE` is the text, and each [`Kernels`] names
//! one kernel for each type of elements, with what it does, its parameters in their order, and its
//! [`Launch`]. With cudarc:
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
//! Rules for all kernels of CUDA: counts, lengths and rows are `u64` and may be 0; matrices are row-major and
//! contiguous; pointers are to elements and need no more alignment than an element; no kernel uses
//! dynamic shared memory; a kernel reads and writes nothing but what its parameters say. Where a
//! parameter is called a *wide* number it is an `f32` for elements of 16 and 32 bits, and an `f64` for
//! those of 64: that is what is computed in, and what is written is rounded once more only for 16 bits.

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
