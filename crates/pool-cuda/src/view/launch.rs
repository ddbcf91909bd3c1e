//! Launches on the stream of a scope's pool, on which its views need no ordering.

use cudarc::driver::{CudaFunction, LaunchArgs};
use pool_core::Scope;

use crate::view::device_pool::DevicePool;

/// Launching kernels from a scope.
pub trait Launch {
    /// Returns cudarc's builder for a launch of `function` on the pool's stream, with views of the
    /// pool as arguments: `scope.launch(&function).arg(&mut view).arg(&n)`.
    ///
    /// The launch itself is unsafe in cudarc. Its contract here: views of pools with another stream
    /// are passed as `view.on(scope.context().stream())?`. If the stream is captured, all memory
    /// that the kernel uses lives as long as the graph, like that of a pool with a
    /// [source](crate::BlockSource). An argument that could not be ordered after other streams'
    /// uses is passed as the address 0, which no launch refuses. A kernel that accesses it faults,
    /// and the context breaks.
    /// [`DeviceStream::take_unanswered`](crate::DeviceStream::take_unanswered) returns the reason,
    /// and may be called before the launch.
    fn launch<'a>(&'a self, function: &'a CudaFunction) -> LaunchArgs<'a>;
}

impl<B: DevicePool> Launch for Scope<'_, B> {
    #[inline]
    fn launch<'a>(&'a self, function: &'a CudaFunction) -> LaunchArgs<'a> {
        self.context().stream().launch_builder(function)
    }
}
