//! Owned arrays in device memory. Each array has its own context, which uses the shared pool's
//! stream.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::CudaStream;
use pool_core::{BlockWatch, ContextSource, Device, PooledMemory, SharedBackend};
use pool_driver::error::CudaError;

use crate::cuda::Cuda;
use crate::stream::device::CudaDevice;
use crate::stream::device_stream::DeviceStream;
use crate::stream::holders::Holder;

/// A watch that is notified of each block allocated for a stream's pool.
pub(crate) type Watch = Box<dyn BlockWatch + Send>;

/// A shared pool's device and stream. A `SharedStream` creates a context for each of the pool's
/// arrays.
pub struct SharedStream {
    device: CudaDevice,
    stream: Arc<CudaStream>,
    /// Counts the memory of all of the pool's arrays, so that they are listed as one pool. `None`
    /// if the pool's context had a block source.
    holder: Option<Arc<Holder>>,
    watch: Option<SharedWatch>,
}

/// A watch that is notified of each block allocated for a shared pool.
///
/// A mutex ensures that the watch handles one notification at a time. The mutex stays locked while
/// the watch runs. Like any other watch, a shared pool's watch must not use the pool.
#[derive(Clone)]
struct SharedWatch(Arc<Mutex<Watch>>);

impl SharedWatch {
    fn lock(&self) -> MutexGuard<'_, Watch> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BlockWatch for SharedWatch {
    fn admit(&self, bytes: usize) -> bool {
        self.lock().admit(bytes)
    }

    fn allocated(&self, identity: u64, bytes: usize) {
        self.lock().allocated(identity, bytes);
    }

    fn freed(&self, identity: u64, bytes: usize) {
        self.lock().freed(identity, bytes);
    }
}

impl ContextSource<Cuda> for SharedStream {
    fn context(&self) -> Result<DeviceStream, CudaError> {
        let stream = Arc::clone(&self.stream);
        let context = match &self.holder {
            Some(holder) => DeviceStream::with_holder(Arc::clone(holder), stream)?,
            None => DeviceStream::new(&self.device, stream)?,
        };
        Ok(match &self.watch {
            Some(watch) => context.watched(watch.clone()),
            None => context,
        })
    }

    fn device(&self) -> Device {
        Device { kind: "cuda", ordinal: Some(self.device.ordinal()) }
    }
}

// SAFETY: `barrier_on_all_threads` keeps its default implementation, which always returns `false`.
unsafe impl SharedBackend for Cuda {
    type Memory = PooledMemory<Self>;
    type Origin = SharedStream;

    fn origin(mut context: DeviceStream) -> SharedStream {
        let watch = context.take_watch().map(|watch| SharedWatch(Arc::new(Mutex::new(watch))));
        let (device, stream) = (context.device().clone(), Arc::clone(context.stream()));
        SharedStream { device, stream, holder: context.holder().cloned(), watch }
    }
}

impl fmt::Debug for SharedStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedStream").field("device", &self.device).finish_non_exhaustive()
    }
}
