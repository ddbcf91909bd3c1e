//! Launches on the stream of a scope's pool: the one on which its views need no ordering.

use cudarc::driver::{CudaFunction, LaunchArgs};
use pool_core::Scope;

use crate::view::device_pool::DevicePool;

/// Launching kernels from a scope.
pub trait Launch {
    /// cudarc's builder for a launch of `function` on the pool's stream, with views of the pool as
    /// arguments: `scope.launch(&function).arg(&mut view).arg(&n)`.
    ///
    /// The launch itself is unsafe, as cudarc says. Its contract here: views of other pools, whose
    /// stream is another one, are given as `view.on(scope.context().stream())?`; and where the stream is
    /// captured, all memory that the kernel uses stays for as long as the graph, as that of a pool with a
    /// [source](crate::BlockSource) does. An argument that could
    /// not be ordered after other streams' uses of its memory is passed as the address 0, which no launch
    /// refuses: a kernel that touches it faults, and the context is lost. Why is with
    /// [`DeviceStream::take_unanswered`](crate::DeviceStream::take_unanswered), which may be asked before.
    fn launch<'a>(&'a self, function: &'a CudaFunction) -> LaunchArgs<'a>;
}

impl<B: DevicePool> Launch for Scope<'_, B> {
    #[inline]
    fn launch<'a>(&'a self, function: &'a CudaFunction) -> LaunchArgs<'a> {
        self.context().stream().launch_builder(function)
    }
}
