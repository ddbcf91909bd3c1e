//! Page-locked buffers for nonblocking copies to and from a graph's blocks. A pool allocates a
//! fixed number of buffers when it is created, and reuses them in the order they are returned. The
//! buffers are `pool-driver`'s [`PageLocked`] values, which detect when a copy has ended.
//! `pool-cuda`'s staged copies also use this type. Once the pool exists, none of its methods
//! allocate a buffer or wait for one.
//!
//! A buffer is reused only after the event that follows its last copy has completed. The pool
//! queries this event when it needs a buffer, so reusing the buffer does not depend on a
//! destructor. Dropping a buffer's owner returns the buffer to the pool, even if a copy is still
//! pending. If the owner is passed to `mem::forget`, the buffer is never reused. The lock on the
//! list of returned buffers is held only while buffers are added or removed.

use std::fmt;
use std::mem;
use std::sync::Arc;

use parking_lot::Mutex;
use pool_core::reserve;
use pool_driver::cudarc::driver::{CudaContext, CudaStream};
use pool_driver::error::CudaError;
use pool_driver::page_locked::PageLocked;

use crate::capture::error::CaptureError;

/// The number and size of a [`StagingPool`]'s buffers.
///
/// ```
/// use pool_graph::StagingConfig;
///
/// // Three steps in flight, each with one input and one output of up to 4096 bytes.
/// let config = StagingConfig { buffers: 3 * 2, bytes: 4096 };
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StagingConfig {
    /// The number of buffers. Each write or read in progress uses one buffer.
    pub buffers: usize,
    /// The size of each buffer in bytes. A buffer must be large enough for the largest write or
    /// read.
    pub bytes: usize,
}

/// A pool of page-locked buffers. [`enqueue_write`](crate::CapturedGraph::enqueue_write) and
/// [`enqueue_read`](crate::CapturedGraph::enqueue_read) use these buffers to copy data without
/// waiting for the device.
///
/// [`with_config`](Self::with_config) allocates all of the pool's buffers. Each copy uses one of
/// these buffers and never waits for a buffer or allocates another one. A buffer is in use until
/// its copy has completed. For a read, the buffer is also in use until its
/// [`ReadTicket`](crate::ReadTicket) has been dropped. If a ticket is passed to `mem::forget`, its
/// buffer is never reused.
///
/// Only one thread can use the pool at a time (`&mut`), but the pool can serve any number of graphs
/// in its context. Tickets can be sent to other threads and may outlive the pool. When dropped, the
/// pool waits until all pending copies that use its available buffers have finished. If a ticket is
/// dropped after its pool, the ticket waits for its own copy to finish.
pub struct StagingPool {
    /// The available buffers, in the order they were returned. The buffers at the front were
    /// returned first, so their copies usually complete first.
    idle: Vec<PageLocked>,
    returned: Arc<ReturnBox>,
    config: StagingConfig,
    context: Arc<CudaContext>,
}

/// Returned buffers that the pool has not collected yet.
#[derive(Debug)]
struct ReturnBox(Mutex<Inbox>);

/// The list of returned buffers, which has capacity for all of the pool's buffers.
#[derive(Debug)]
struct Inbox {
    buffers: Vec<PageLocked>,
    /// `true` once the pool has been dropped.
    is_closed: bool,
}

/// A buffer in use. Dropping this value returns the buffer to the pool.
#[derive(Debug)]
pub(super) struct TakenBuffer {
    /// The page-locked memory, or `None` while the buffer is being returned.
    buffer: Option<PageLocked>,
    returned: Arc<ReturnBox>,
}

impl StagingPool {
    /// Creates a pool and allocates its buffers in the given context. The pool can serve only
    /// graphs in the same context.
    ///
    /// # Errors
    ///
    /// Returns an error if the driver call fails. The call also fails if the host cannot allocate
    /// the pool's records. If the host cannot allocate the pool's `Arc`, the process aborts. None
    /// of the pool's other methods allocate memory.
    pub fn with_config(
        context: &Arc<CudaContext>,
        config: StagingConfig,
    ) -> Result<Self, CaptureError> {
        let mut idle = reserve::list(config.buffers)?;
        let buffers = reserve::list(config.buffers)?;
        for _ in 0..config.buffers {
            idle.push(PageLocked::new(config.bytes, context)?);
        }
        let returned = ReturnBox::counted(Inbox { buffers, is_closed: false });
        Ok(Self { idle, returned, config, context: Arc::clone(context) })
    }

    /// Returns the number and size of the pool's buffers.
    #[must_use]
    pub fn config(&self) -> StagingConfig {
        self.config
    }

    /// Returns the CUDA context to which the buffers belong.
    #[must_use]
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// Takes a buffer that has no pending copies. This call neither waits nor allocates memory.
    pub(super) fn take(&mut self, bytes: usize) -> Result<TakenBuffer, CaptureError> {
        let StagingConfig { buffers, bytes: capacity } = self.config;
        if bytes > capacity {
            return Err(CaptureError::StagingTooSmall { requested: bytes, capacity });
        }
        self.idle.append(&mut self.returned.0.lock().buffers);
        let (mut refused, mut lost) = (None, 0);
        for place in 0..self.idle.len() {
            match self.idle[place].is_free() {
                Ok(true) => {
                    let buffer = Some(self.idle.remove(place));
                    return Ok(TakenBuffer { buffer, returned: Arc::clone(&self.returned) });
                }
                Ok(false) => {}
                Err(error) => {
                    lost += usize::from(self.idle[place].is_lost());
                    // A lost buffer never becomes available again, but the pool reports the loss
                    // only if all of its buffers are lost.
                    if !self.idle[place].is_lost() || lost == buffers {
                        refused = Some(error);
                    }
                }
            }
        }
        let pending = self.idle.len();
        let exhausted =
            CaptureError::StagingExhausted { buffers, held: buffers - pending, pending };
        Err(refused.map_or(exhausted, CaptureError::Driver))
    }
}

impl ReturnBox {
    /// Allocates a pool's `Arc`. The process aborts if the host is out of memory. This allocation
    /// has its own function so that the function's name appears in stack traces.
    #[inline(never)]
    fn counted(inbox: Inbox) -> Arc<Self> {
        Arc::new(Self(Mutex::new(inbox)))
    }
}

impl TakenBuffer {
    /// Returns the buffer's bytes, or an empty slice if a copy might be pending.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        let bytes = self.buffer.as_mut().and_then(PageLocked::bytes_mut);
        bytes.unwrap_or_default()
    }

    /// Enqueues a copy of the buffer's first `bytes` bytes to the device.
    ///
    /// # Safety
    ///
    /// The range of `bytes` bytes at `to` must be allocated in the stream's context. The caller
    /// must be allowed to write to this range in stream order. The buffer must have just been taken
    /// from the pool and must contain at least `bytes` bytes.
    pub(super) unsafe fn copy_to_device(
        &mut self,
        to: u64,
        bytes: usize,
        stream: &Arc<CudaStream>,
    ) -> Result<(), CudaError> {
        let Some(buffer) = &mut self.buffer else { return Ok(()) };
        // SAFETY: the caller guarantees that the device range is valid and may be written to in
        // stream order. The buffer has just been taken from the pool, so no copy uses it.
        unsafe { buffer.copy_to_device(to, bytes, stream) }
    }

    /// Enqueues a copy of `bytes` bytes from the device to the start of the buffer.
    ///
    /// # Safety
    ///
    /// The requirements are the same as for [`copy_to_device`](Self::copy_to_device), except that
    /// the range need only be readable.
    pub(super) unsafe fn copy_to_host(
        &mut self,
        from: u64,
        bytes: usize,
        stream: &Arc<CudaStream>,
    ) -> Result<(), CudaError> {
        let Some(buffer) = &mut self.buffer else { return Ok(()) };
        // SAFETY: the caller guarantees that the device range is valid and may be read in stream
        // order. The buffer has just been taken from the pool, so no copy uses it.
        unsafe { buffer.copy_to_host(from, bytes, stream) }
    }

    /// Returns `true` if all copies to and from the buffer have completed.
    pub(super) fn is_done(&mut self) -> Result<bool, CudaError> {
        self.buffer.as_mut().map_or(Ok(true), PageLocked::is_free)
    }

    /// Waits until all copies to and from the buffer have completed.
    pub(super) fn wait(&mut self) -> Result<(), CudaError> {
        self.buffer.as_mut().map_or(Ok(()), PageLocked::wait)
    }
}

/// Returns the buffer to the pool, even if a copy is still pending. If the pool has been dropped,
/// the destructor waits for the copies to finish and then frees the buffer.
impl Drop for TakenBuffer {
    fn drop(&mut self) {
        let mut buffer = self.buffer.take();
        let mut inbox = self.returned.0.lock();
        if !inbox.is_closed {
            inbox.buffers.extend(buffer.take());
        }
        // The lock is released before the buffer is freed because freeing the buffer might block
        // until its copies finish.
        drop(inbox);
        drop(buffer);
    }
}

impl Drop for StagingPool {
    fn drop(&mut self) {
        let mut inbox = self.returned.0.lock();
        inbox.is_closed = true;
        let came_back = mem::take(&mut inbox.buffers);
        drop(inbox);
        drop(came_back);
    }
}

impl fmt::Debug for StagingPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StagingPool")
            .field("config", &self.config)
            .field("idle", &self.idle.len())
            .finish_non_exhaustive()
    }
}
