//! Kernel launches on the stream of a scope's pool, where its views need no ordering.

use cudarc::driver::{CudaFunction, LaunchArgs};
use pool_core::Scope;

use crate::view::device_pool::DevicePool;

/// Launches kernels from a scope.
pub trait Launch {
    /// Returns cudarc's builder for a launch of `function` on the pool's stream. Views of the pool
    /// can be arguments: `scope.launch(&function).arg(&mut view).arg(&n)`.
    ///
    /// If the pool belongs to a captured scope, the graph keeps the function's module loaded. A
    /// launch through cudarc's own builder does not do this; see `Capture::keep` of `pool-graph`.
    ///
    /// The launch itself is unsafe in cudarc. Its contract here is: Views of pools on another
    /// stream must be passed as `view.on(scope.context().stream())?`. If the stream is captured,
    /// all memory that the kernel uses must live as long as the graph, as memory of a pool with a
    /// [source](crate::BlockSource) does. An argument that could not be ordered after other
    /// streams' uses is passed as the address 0, which no launch refuses. A kernel that accesses
    /// this address faults, and the context becomes unusable.
    /// [`DeviceStream::take_unanswered`](crate::DeviceStream::take_unanswered) returns the reason,
    /// and can be called before the launch.
    fn launch<'a>(&'a self, function: &'a CudaFunction) -> LaunchArgs<'a>;
}

impl<B: DevicePool> Launch for Scope<'_, B> {
    #[inline]
    fn launch<'a>(&'a self, function: &'a CudaFunction) -> LaunchArgs<'a> {
        let context = self.context();
        if let Some(source) = context.captured_source() {
            source.keep_function(function);
        }
        context.stream().launch_builder(function)
    }
}
