//! Page-locked buffers for copies to and from a graph's blocks. The graph owns these buffers. Even
//! if a call fails while its copy is still running, the copy never accesses the caller's memory.
//! Unlike the buffers of a [`StagingPool`](crate::StagingPool), these buffers need no events,
//! because the host waits for every copy to finish.

use std::sync::Arc;

use pool_driver::cudarc::driver::CudaContext;
use pool_driver::error::CudaError;
use pool_driver::host_buffer::{HostBuffer, HostEntry};

/// The last copy's buffer, which the next copy can reuse. `CopyBuffers` also holds buffers whose
/// copies might still be pending.
#[derive(Debug, Default)]
pub(crate) struct CopyBuffers {
    /// Host memory reserved for the first buffer's record, so that creating this buffer allocates
    /// no other host memory.
    entry: Option<HostEntry>,
    ready: Option<HostBuffer>,
    pending: Vec<HostBuffer>,
}

impl CopyBuffers {
    /// Creates an instance without buffers and reserves host memory for the first buffer's record.
    pub(crate) fn new() -> Result<Self, CudaError> {
        Ok(Self { entry: Some(HostEntry::new()?), ..Self::default() })
    }

    /// Returns a buffer that is at least as large as `bytes`. A new buffer contains a copy of
    /// `bytes`, whereas a reused buffer has unspecified contents. The caller must already have made
    /// the context current on this thread.
    pub(crate) fn take(
        &mut self,
        bytes: &[u8],
        context: &Arc<CudaContext>,
    ) -> Result<HostBuffer, CudaError> {
        match self.ready.take().filter(|ready| ready.len() >= bytes.len()) {
            Some(ready) => Ok(ready),
            None => {
                let entry = self.entry.take().map_or_else(HostEntry::new, Ok)?;
                HostBuffer::with_entry(entry, bytes, context)
            }
        }
    }

    /// Retains a buffer after its copy has completed so that the next copy can reuse it. All
    /// previously enqueued copies have also completed, so their buffers are freed.
    pub(crate) fn done(&mut self, buffer: HostBuffer) {
        self.ready = Some(buffer);
        self.pending.clear();
    }

    /// Retains a buffer until the stream has been synchronized. If the host cannot allocate an
    /// entry for the buffer, the buffer is leaked.
    pub(crate) fn pending(&mut self, buffer: HostBuffer) {
        match self.pending.try_reserve(1) {
            Ok(()) => self.pending.push(buffer),
            Err(_) => std::mem::forget(buffer),
        }
    }
}
