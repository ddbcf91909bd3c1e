//! The thread-local pools of `Cuda` and of `Stacked<Cuda>`. One list for each of them contains the
//! pools of all devices and streams that a thread chooses. A thread takes a pool whose stream
//! matches.

use pool_core::Stacked;
use pool_cuda::{Cuda, CudaError, DeviceStream, set_idle_pools_trim};

use super::idle_pools;
use super::requests::OF_DEVICES;

// The pools share the thread's stream, and keep it alive as long as they need it.
crate::local_pools!(Cuda, context: context, is_for_thread: DeviceStream::is_for_thread);

crate::local_pools!(Stacked<Cuda>, context: context, is_for_thread: DeviceStream::is_for_thread);

/// Creates the context of a new pool. Once the first pool exists, idle pools free their memory
/// before an allocation is reported as failed.
fn context() -> Result<DeviceStream, CudaError> {
    set_idle_pools_trim(trim_idle_pools);
    DeviceStream::for_thread()
}

/// Frees the memory of this thread's idle pools, and requests the other threads to do the same.
/// Returns the number of bytes freed.
fn trim_idle_pools() -> usize {
    OF_DEVICES.ask();
    idle_pools::trim::<Cuda>().plus(idle_pools::trim::<Stacked<Cuda>>()).bytes
}
