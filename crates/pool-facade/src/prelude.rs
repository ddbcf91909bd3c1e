//! Re-exports the names that almost every program needs. To import all of these names, write `use
//! pool_facade::prelude::*;`.

#[cfg(all(feature = "cpu", feature = "ndarray"))]
pub use crate::{AcquireArray, IntoNdarray};
#[cfg(feature = "cuda")]
pub use crate::{AcquireShaped, CudaDevice, CudaError, DeviceStream, Launch};
pub use crate::{
    Compaction, Cpu, Cuda, DynamicPool, Element, FixedVec, Handle, LendView, NdView, Owned,
    PodElement, Pool, PoolBackend, PoolBox, PoolConfig, PoolError, PoolStats, PoolVec, PoolView,
    PoolViewMut, Scope, SharedPool, Stacked, Wgpu, local, try_local, try_with_pool, with_pool,
};
#[cfg(feature = "allocator-api2")]
pub use crate::{PoolString, ScopeAllocator};
