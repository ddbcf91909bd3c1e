//! Defines the marker types that select a backend at compile time. A marker type exists even if its
//! backend is disabled, so that the compiler's error can name the missing Cargo feature.

#[cfg(feature = "cpu")]
pub use pool_cpu::Cpu;

/// The backend for host memory. This backend requires the `cpu` feature, which is enabled by
/// default.
#[cfg(not(feature = "cpu"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpu;

#[cfg(feature = "cuda")]
pub use pool_cuda::Cuda;

/// The backend for NVIDIA device memory. This backend requires the `cuda` feature. Without the
/// `cuda` feature, using this marker in [`with_pool!`](crate::with_pool) causes a compile error
/// that names the feature.
///
/// ```compile_fail,E0277
/// pool_facade::with_pool!(pool_facade::Cuda, |scope| { scope.active_slots() });
/// ```
#[cfg(not(feature = "cuda"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cuda;

#[cfg(feature = "wgpu")]
pub use pool_wgpu::Wgpu;

/// The backend for buffers on wgpu devices (Vulkan, Metal, Direct3D 12). This backend requires the
/// `wgpu` feature. Without the `wgpu` feature, using this marker in
/// [`with_pool!`](crate::with_pool) causes a compile error that names the feature.
///
/// ```compile_fail,E0277
/// pool_facade::with_pool!(pool_facade::Wgpu, |scope| { scope.active_slots() });
/// ```
#[cfg(not(feature = "wgpu"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wgpu;
