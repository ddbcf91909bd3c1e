//! The markers that pick a backend at compile time. A marker exists whether its backend is built in
//! or not, so that a missing feature is a message that names it.

#[cfg(feature = "cpu")]
pub use pool_cpu::Cpu;

/// Host memory; enable the feature `cpu`, on by default, to use it.
#[cfg(not(feature = "cpu"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpu;

/// The memory of an NVIDIA GPU. Its backend is not in this release: naming it in
/// [`with_pool!`](crate::with_pool) is a compile error that says so.
///
/// ```compile_fail,E0277
/// pool_facade::with_pool!(pool_facade::Cuda, scope => { scope.active_slots() });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cuda;
