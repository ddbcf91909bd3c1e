//! The markers that select a backend at compile time. A marker exists even if its backend is not
//! compiled, so that the compiler's message can name the missing feature.

#[cfg(feature = "cpu")]
pub use pool_cpu::Cpu;

/// Host memory. To use it, enable the feature `cpu`, which is on by default.
#[cfg(not(feature = "cpu"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpu;

#[cfg(feature = "cuda")]
pub use pool_cuda::Cuda;

/// The memory of NVIDIA devices. To use it, enable the feature `cuda`. Without the feature, using
/// this marker in [`with_pool!`](crate::with_pool) is a compile error that names the feature.
///
/// ```compile_fail,E0277
/// pool_facade::with_pool!(pool_facade::Cuda, |scope| { scope.active_slots() });
/// ```
#[cfg(not(feature = "cuda"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cuda;

#[cfg(feature = "wgpu")]
pub use pool_wgpu::Wgpu;

/// The buffers of wgpu's devices (Vulkan, Metal, Direct3D 12). To use them, enable the feature
/// `wgpu`. Without the feature, using this marker in [`with_pool!`](crate::with_pool) is a compile
/// error that names the feature.
///
/// ```compile_fail,E0277
/// pool_facade::with_pool!(pool_facade::Wgpu, |scope| { scope.active_slots() });
/// ```
#[cfg(not(feature = "wgpu"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wgpu;
