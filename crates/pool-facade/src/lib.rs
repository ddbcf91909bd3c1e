//! Adaptive memory pools that reuse an inner loop's temporaries. The compiler checks each use of a
//! pool's memory.
//!
//! You acquire memory from a scope, which frees all of it when the scope ends. The second iteration
//! of a loop reuses the first iteration's blocks without allocating memory, zeroing it, or updating
//! any bookkeeping. From the second iteration on, acquiring an array costs only a few instructions.
//!
//! ```
//! # #[cfg(feature = "cpu")] {
//! use pool_facade::prelude::*;
//!
//! /// One step of a solver: all its temporaries come from the caller's scope.
//! fn residual(scope: &Scope<'_, Cpu>, x: &[f64], b: &[f64]) -> f64 {
//!     let r = scope.acquire_with(x.len(), |i| b[i] - 2.0 * x[i]);
//!     r.iter().map(|r| r * r).sum::<f64>().sqrt()
//! }
//!
//! let b = vec![1.0; 1000];
//! for _ in 0..100 {
//!     let norm = with_pool!(|scope| {
//!         let x = scope.acquire_filled(1000, 0.25);
//!         residual(&scope, x, &b)
//!     });
//!     assert!((norm - 0.5 * 1000_f64.sqrt()).abs() < 1e-9);
//! }
//! assert_eq!(local::<Cpu>().stats().growths, 2); // two blocks, a hundred passes
//! # }
//! ```
//!
//! With the `cuda` feature enabled, scopes can also be used on a device:
//!
//! ```no_run
//! # #[cfg(feature = "cuda")]
//! # fn on_a_device(samples: &[f32]) -> Result<Vec<f32>, Box<dyn std::error::Error>> {
//! use pool_facade::prelude::*;
//!
//! let found = with_pool!(Cuda, |scope| {
//!     let input = scope.try_acquire_from(samples)?;
//!     let mut output = scope.try_acquire::<f32, _>(input.len())?;
//!     // … `scope.launch(&kernel).arg(&mut output).arg(&input)`, or any function of cudarc …
//!     output.copy_from(input.as_view())?;
//!     output.copy_to_vec()?
//! });
//! # Ok(found)
//! # }
//! ```
//!
//! - [`with_pool!`] opens a scope in one of the current thread's pools, and the [`local()`]
//!   function returns a guard that owns such a pool.
//! - [`Pool`] is a pool that you own. You can store it in a struct and send it to another thread.
//! - [`DynamicPool`] is intended for code whose lifetimes do not nest, such as interpreters, tapes,
//!   and foreign callers.
//! - [`SharedPool`] provides [`Owned`] arrays, which can leave their scope and can be dropped on
//!   any thread.
//! - [`compiler_errors`] explains how to fix common compiler errors.
//!
//! Each backend is enabled by a Cargo feature. `Cuda` pools use the device that the thread has
//! selected with `Cuda::set_device`. The default is device 0. `Wgpu` pools use the stream that the
//! thread has selected with `pool_wgpu::Stream::set_for_thread`. By default, a thread uses a stream
//! on the first adapter.
//!
//! # Features
//!
//! | feature | gives | costs |
//! |---|---|---|
//! | `cpu` (default) | the host backend, `Cpu` | pool-cpu; libc on Linux |
//! | `cuda` | the CUDA backend, `Cuda`, for drivers of CUDA 12.0 and newer, with any version and linking mode that another crate selects for cudarc | cudarc, and Rust 1.88 |
//! | `graph` | memory for captured CUDA graphs, as `pool_graph`, for drivers of CUDA 12.3 and newer; enables `cuda` | pool-graph, pool-plan and parking_lot |
//! | `record` | exports the temporaries of captures and captured graphs to a file for `pool-plan`, with `pool_graph::GraphRecord`; enables `graph` | serde and serde_json |
//! | `wgpu` | the `Wgpu` backend for buffers of Vulkan, Metal, Direct3D 12 and a browser's WebGPU | pool-wgpu, wgpu, and Rust 1.87 |
//! | `dlpack` | owned arrays as DLPack tensors for numpy, torch and other libraries, and tensors of these libraries as slices, as `pool_dlpack` | pool-dlpack, dlpark, and Rust 1.88 |
//! | `ndarray` | arrays as `ndarray` views: `acquire_array((n, m))` for any shape that `ndarray` accepts, `into_ndarray()`, and `acquire_array_dyn(&dims)` for a dynamic rank | ndarray |
//! | `allocator-api2` | [`Scope::allocator`] for `hashbrown` maps, vectors, boxes and strings in a scope | allocator-api2 0.2, which hashbrown also uses |
//! | `nightly` | `Scope::allocator` through the standard library's trait; enables `allocator-api2` | a nightly compiler |
//! | `half` | `half::f16` and `half::bf16` are elements | half |
//! | `complex` | `num_complex::Complex` is an element | num-complex |
//! | `tracing` | spans for growth and trimming, and a warning at 512, 1024, … slots, which often indicate a missing scope | tracing, without any cost on the hot path |

#![cfg_attr(docsrs, feature(doc_cfg))]

// Layering: each module may import only the modules listed to the right of its name. The
// `cargo xtask imports` command checks this list, and `cargo xtask imports --list` prints it.
//
// compiler_errors, diagnostics, macros, markers: nothing
// local: diagnostics
// prelude: local, markers
// trim_all: local, markers

pub mod compiler_errors;
mod diagnostics;
mod local;
mod macros;
mod markers;
pub mod prelude;
mod trim_all;

pub use diagnostics::check_memory;
#[doc(hidden)]
pub use local::ListAccess;
pub use local::{IdlePools, IdlePoolsCloser, LocalGuard, LocalPool, local, try_local};
pub use markers::{Cpu, Cuda, Wgpu};
#[cfg(feature = "allocator-api2")]
pub use pool_core::allocator_api2;
#[cfg(feature = "half")]
pub use pool_core::half;
#[cfg(feature = "complex")]
pub use pool_core::num_complex;
pub use pool_core::{
    AcquireResult, Boxable, CapacityError, Compaction, ConfigError, Device, DynamicPool,
    DynamicShape, Element, FixedShape, FixedVec, Handle, Handles, HostAcquireResult, HostArray,
    HostBackend, HostElement, LendView, MemoryChecks, NdArray, NdView, Owned, PodElement, Pool,
    PoolBackend, PoolBox, PoolConfig, PoolError, PoolStats, PoolVec, PoolView, PoolViewMut,
    ReleaseReport, Scope, Shape, ShapeError, SharedBackend, SharedPool, Slots, Stack, Stacked,
    StackedBackend, TakeResult, ViewError, bytemuck, error_chain,
};
#[cfg(feature = "allocator-api2")]
pub use pool_core::{PoolString, ScopeAllocator};
#[cfg(feature = "cpu")]
pub use pool_cpu::CpuError;
#[cfg(all(feature = "cpu", feature = "ndarray"))]
pub use pool_cpu::{AcquireArray, ArrayResult, IntoNdarray, ndarray};
#[cfg(feature = "cuda")]
pub use pool_cuda;
#[cfg(feature = "cuda")]
pub use pool_cuda::{
    AcquireShaped, CudaDevice, CudaError, DeviceStream, DeviceView, DeviceViewMut, Launch,
    record_use, register_stream,
};
#[cfg(feature = "dlpack")]
pub use pool_dlpack;
#[cfg(feature = "graph")]
pub use pool_graph;
#[cfg(feature = "wgpu")]
pub use pool_wgpu;
#[cfg(feature = "wgpu")]
pub use pool_wgpu::{BufferView, BufferViewMut, WgpuError};
pub use trim_all::{stats_all, trim_all};

/// Compiles the code examples in the crate's README.
#[cfg(all(doctest, feature = "cpu"))]
#[doc = include_str!("../README.md")]
struct CrateReadme;
