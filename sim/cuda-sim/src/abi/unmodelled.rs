//! Calls that are known and not modelled: each is refused, with its name in a message.
//!
//! A call that is missing here is a missing symbol. cudarc panics for it, and names it too.

macro_rules! unmodelled {
    ($($name:ident)*) => {
        /// The calls of this file.
        pub(super) const CALLS: &[crate::abi::entry::Entry] =
            &[$(crate::abi::entry::Entry::new(stringify!($name), $name as *const ())),*];
        $(
            // SAFETY: the name is CUDA's. In the C conventions of every system that CUDA supports,
            // the caller removes the arguments, so none need be declared.
            #[unsafe(no_mangle)]
            #[allow(non_snake_case, reason = "CUDA's names")]
            extern "C" fn $name() -> u32 {
                crate::abi::session::call(stringify!($name), |_| Err(crate::code::unmodelled(stringify!($name))))
            }
        )*
    };
}

unmodelled! {
    cuLaunchCooperativeKernel
    cuOccupancyMaxPotentialBlockSize
    cuGraphExecChildGraphNodeSetParams
    cuGraphClone
    cuGraphInstantiateWithParams
    cuStreamBeginCaptureToGraph
    cuStreamAttachMemAsync
    cuCtxCreate_v4
    cuCtxDestroy_v2
    cuCtxGetLimit
    cuCtxSetLimit
    cuCtxGetCacheConfig
    cuCtxSetCacheConfig
    cuMemAllocManaged
    cuMemPrefetchAsync_v2
    cuMemAdvise_v2
    cuMemPoolExportToShareableHandle
    cuImportExternalMemory
    cuDestroyExternalMemory
    cuExternalMemoryGetMappedBuffer
    cuDeviceSetGraphMemAttribute
}
