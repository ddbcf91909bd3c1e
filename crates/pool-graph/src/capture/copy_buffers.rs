//! What blocks of a graph are copied through: page-locked memory of the graph's, so that a copy that is made after
//! its call has failed touches nothing of the caller's. Each copy is waited for at once, so a buffer needs no event, as a
//! [`StagingPool`](crate::StagingPool)'s does.

use std::sync::Arc;

use pool_driver::cudarc::driver::CudaContext;
use pool_driver::error::CudaError;
use pool_driver::host_buffer::{HostBuffer, HostPlace};

/// The buffer of the last copy, for the next one, and those that may be copied to or from still.
#[derive(Debug, Default)]
pub(crate) struct CopyBuffers {
    /// The place of the first buffer, so that making that buffer takes no memory of the host's own.
    place: Option<HostPlace>,
    ready: Option<HostBuffer>,
    pending: Vec<HostBuffer>,
}

impl CopyBuffers {
    /// No buffer yet, and the place of the first one.
    pub(crate) fn new() -> Result<Self, CudaError> {
        Ok(Self { place: Some(HostPlace::new()?), ..Self::default() })
    }

    /// A buffer of as many bytes or more, with bytes of its own in it; the context is bound.
    pub(crate) fn take(
        &mut self,
        bytes: &[u8],
        context: &Arc<CudaContext>,
    ) -> Result<HostBuffer, CudaError> {
        match self.ready.take().filter(|ready| ready.len() >= bytes.len()) {
            Some(ready) => Ok(ready),
            None => {
                let place = self.place.take().map_or_else(HostPlace::new, Ok)?;
                HostBuffer::in_place(place, bytes, context)
            }
        }
    }

    /// Keeps a buffer after a copy that was waited for: the copies before it are done, too.
    pub(crate) fn done(&mut self, buffer: HostBuffer) {
        self.ready = Some(buffer);
        self.pending.clear();
    }

    /// Keeps a buffer until the stream is waited for; for ever, where the host has no memory to note it.
    pub(crate) fn pending(&mut self, buffer: HostBuffer) {
        match self.pending.try_reserve(1) {
            Ok(()) => self.pending.push(buffer),
            Err(_) => std::mem::forget(buffer),
        }
    }
}
