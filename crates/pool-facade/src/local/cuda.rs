//! The thread-local pools of `Cuda` and of `Stacked<Cuda>`: for each, one list for all devices and streams that a thread chooses, of which a
//! pool is taken by its stream.

use pool_core::Stacked;
use pool_cuda::{Cuda, DeviceStream};

// The pools share the thread's stream, and keep it as long as they need it.
crate::local_pools!(Cuda, context: DeviceStream::for_thread, is_for_thread: DeviceStream::is_for_thread);

crate::local_pools!(
    Stacked<Cuda>,
    context: DeviceStream::for_thread,
    is_for_thread: DeviceStream::is_for_thread
);
