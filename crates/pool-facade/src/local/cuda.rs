//! Defines the thread-local pools of `Cuda` and `Stacked<Cuda>`. A thread has one list of idle
//! pools for each of these backends. The list contains pools for every device and stream that the
//! thread has selected. A thread uses an idle pool only if the pool was created for the stream that
//! the thread has selected.

use pool_core::Stacked;
use pool_cuda::{Cuda, CudaError, DeviceStream, set_idle_pools_trim};

use super::idle_pools;
use super::requests::OF_DEVICES;

// The pools share the thread's stream, which stays alive as long as a pool needs it.
crate::local_pools!(Cuda, context: context, is_for_thread: DeviceStream::is_for_thread);

crate::local_pools!(Stacked<Cuda>, context: context, is_for_thread: DeviceStream::is_for_thread);

/// Creates a new pool's context. After the first call, the idle pools' memory is freed before a
/// failed allocation is reported.
fn context() -> Result<DeviceStream, CudaError> {
    set_idle_pools_trim(trim_idle_pools);
    DeviceStream::for_thread()
}

/// Frees the memory of this thread's idle pools and asks all other threads to do the same. Returns
/// the number of bytes freed.
fn trim_idle_pools() -> usize {
    OF_DEVICES.ask();
    idle_pools::trim::<Cuda>().plus(idle_pools::trim::<Stacked<Cuda>>()).bytes
}
