//! Calls that are known but not modelled. Each is refused with a message that contains its name.
//!
//! A call that this list lacks is a missing symbol. cudarc panics in this case, and its message
//! contains the name.

macro_rules! unmodelled {
    ($($name:ident)*) => {
        /// The calls of this file.
        pub(super) const CALLS: &[crate::abi::entry::Entry] =
            &[$(crate::abi::entry::Entry::new(stringify!($name), $name as *const ())),*];
        $(
            // SAFETY: CUDA defines this name.
            // In the C calling convention of every system that CUDA supports, the caller removes
            // the arguments, so this function need not declare any.
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
