//! Buffers for copies of a graph's blocks: page-locked memory of the graph. So a copy that happens
//! after its call has failed accesses no memory of the caller. Each copy is waited for at once, so
//! a buffer needs no event, unlike that of a [`StagingPool`](crate::StagingPool).

use std::sync::Arc;

use pool_driver::cudarc::driver::CudaContext;
use pool_driver::error::CudaError;
use pool_driver::host_buffer::{HostBuffer, HostPlace};

/// The buffer of the last copy, for the next one, and those with a possibly pending copy.
#[derive(Debug, Default)]
pub(crate) struct CopyBuffers {
    /// The place of the first buffer, so that its creation allocates no host memory of its own.
    place: Option<HostPlace>,
    ready: Option<HostBuffer>,
    pending: Vec<HostBuffer>,
}

impl CopyBuffers {
    /// Creates the list without a buffer, with the place of the first one.
    pub(crate) fn new() -> Result<Self, CudaError> {
        Ok(Self { place: Some(HostPlace::new()?), ..Self::default() })
    }

    /// Takes a buffer of at least this many bytes, with this content. The context must be bound.
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

    /// Keeps a buffer after a copy that was waited for: earlier copies are done, too.
    pub(crate) fn done(&mut self, buffer: HostBuffer) {
        self.ready = Some(buffer);
        self.pending.clear();
    }

    /// Keeps a buffer until the stream is waited for, or forever if the host has no memory for the
    /// entry.
    pub(crate) fn pending(&mut self, buffer: HostBuffer) {
        match self.pending.try_reserve(1) {
            Ok(()) => self.pending.push(buffer),
            Err(_) => std::mem::forget(buffer),
        }
    }
}
