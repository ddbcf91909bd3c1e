//! Calls that are known and not modelled: each is refused, and says its name.
//!
//! A call that is not even here is a missing symbol, with which cudarc panics and says its name, too.

macro_rules! unmodelled {
    ($($name:ident)*) => {
        /// The calls of this file.
        pub(super) const CALLS: &[crate::abi::entry::Entry] =
            &[$(crate::abi::entry::Entry::new(stringify!($name), $name as *const ())),*];
        $(
            // SAFETY: the name is CUDA's. Arguments are the caller's to clear away in the C
            // conventions of every system that CUDA runs on, so none need be named.
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
