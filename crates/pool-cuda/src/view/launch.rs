//! Launches kernels on the stream of a scope's pool.

use cudarc::driver::{CudaFunction, LaunchArgs};
use pool_core::Scope;

use crate::view::device_pool::DevicePool;

/// A trait that adds a kernel-launching method to `Scope`. The launched kernels can use views of
/// the scope's pool without explicit ordering.
pub trait Launch {
    /// Returns cudarc's builder for a launch of `function` on the pool's stream. You can pass the
    /// pool's views as arguments, as in `scope.launch(&function).arg(&mut view).arg(&n)`.
    ///
    /// If the pool's stream is being captured with `pool-graph`, the graph keeps the function's
    /// module loaded. If you create the builder with cudarc, the graph does not keep the module
    /// loaded (see `Capture::keep` in `pool-graph`).
    ///
    /// The builder's `launch` method is unsafe, and cudarc documents its safety contract. If a
    /// view's pool uses another stream, pass `view.on(scope.context().stream())?` instead of the
    /// view. If the pool's stream is being captured, all memory that the kernel uses must stay
    /// valid as long as the graph exists. If a pool has a [source](crate::BlockSource), its memory
    /// stays valid as long as the graph exists. If the pool cannot order the other streams that use
    /// a view, the kernel receives address 0 for that view. The launch itself succeeds, even though
    /// the kernel receives address 0. A kernel that accesses address 0 faults and makes the CUDA
    /// context unusable. To detect this error, call
    /// [`DeviceStream::take_pending_error`](crate::DeviceStream::take_pending_error) before the
    /// launch.
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
