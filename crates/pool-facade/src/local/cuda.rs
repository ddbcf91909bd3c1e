//! The thread-local pools of `Cuda` and of `Stacked<Cuda>`. One list for each has the pools of all
//! devices and streams that a thread chooses; a pool is taken by its stream.

use pool_core::Stacked;
use pool_cuda::{Cuda, CudaError, DeviceStream, set_idle_pools_trim};

use super::idle_pools;
use super::requests::OF_DEVICES;

// The pools share the thread's stream, and keep it as long as they need it.
crate::local_pools!(Cuda, context: context, is_for_thread: DeviceStream::is_for_thread);

crate::local_pools!(Stacked<Cuda>, context: context, is_for_thread: DeviceStream::is_for_thread);

/// Makes the context of a new pool. From the first one on, idle pools free their memory before an
/// allocation fails.
fn context() -> Result<DeviceStream, CudaError> {
    set_idle_pools_trim(trim_idle_pools);
    DeviceStream::for_thread()
}

/// Frees the memory of this thread's idle pools, and requests the other threads to do so; returns
/// the bytes freed.
fn trim_idle_pools() -> usize {
    OF_DEVICES.ask();
    idle_pools::trim::<Cuda>().plus(idle_pools::trim::<Stacked<Cuda>>()).bytes
}
