//! Launches kernels on the stream of a scope's pool.

use cudarc::driver::{CudaFunction, LaunchArgs};
use pool_core::Scope;

use crate::view::device_pool::DevicePool;

/// A trait that adds a method for launching kernels to `Scope`. These kernels can use views of the
/// scope's pool without any explicit ordering.
pub trait Launch {
    /// Returns cudarc's builder for a launch of `function` on the pool's stream. Views of the pool
    /// can be passed as arguments: `scope.launch(&function).arg(&mut view).arg(&n)`.
    ///
    /// If the pool's stream is being captured with `pool-graph`, the graph keeps the function's
    /// module loaded. If you create the builder with cudarc instead, the graph does not keep the
    /// module loaded; see `Capture::keep` of `pool-graph`.
    ///
    /// The `launch` method of cudarc's builder is unsafe. In addition to cudarc's own safety
    /// contract, a view whose pool uses another stream must be passed as
    /// `view.on(scope.context().stream())?`. If the pool's stream is being captured, all memory
    /// that the kernel uses must stay valid for as long as the graph exists. The memory of a pool
    /// with a [source](crate::BlockSource) meets this requirement. The pool may be unable to order
    /// other streams that use a view. The view is then passed to the kernel as address 0, and the
    /// launch still succeeds. A kernel that accesses address 0 faults, and the CUDA context becomes
    /// unusable. Before the launch,
    /// [`DeviceStream::take_unanswered`](crate::DeviceStream::take_unanswered) returns the error
    /// that prevented the ordering.
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
