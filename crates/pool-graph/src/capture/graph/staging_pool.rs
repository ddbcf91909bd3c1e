//! Page-locked buffers that feed replays: a fixed number, all created with the pool, and used in
//! the order of their return. Buffers, and the end of their copies, are `pool-driver`'s
//! [`PageLocked`], as for the staged copies of `pool-cuda`. No later call of this module creates or
//! waits.
//!
//! A buffer is reused once the event after its last copy has completed, which is queried when a
//! buffer is needed. So no destructor is involved. The drop of a buffer's holder returns it, even
//! with a pending copy; a forgotten holder keeps it. The lock of the returned buffers is held only
//! to move them.

use std::fmt;
use std::mem;
use std::sync::Arc;

use parking_lot::Mutex;
use pool_core::reserve;
use pool_driver::cudarc::driver::{CudaContext, CudaStream};
use pool_driver::error::CudaError;
use pool_driver::page_locked::PageLocked;

use crate::capture::error::CaptureError;

/// The size of a [`StagingPool`].
///
/// ```
/// use pool_graph::StagingConfig;
///
/// // Three steps in flight, each with one input and one output of up to 4096 bytes.
/// let config = StagingConfig { buffers: 3 * 2, bytes: 4096 };
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StagingConfig {
    /// The number of buffers: one for each write and each read that is in flight at one time.
    pub buffers: usize,
    /// The bytes of each buffer: those of the largest write or read.
    pub bytes: usize,
}

/// Pooled page-locked memory, through which [`enqueue_write`](crate::CapturedGraph::enqueue_write) and
/// [`enqueue_read`](crate::CapturedGraph::enqueue_read) copy without waiting for the device.
///
/// [`with_config`](Self::with_config) allocates all of it. A copy takes one of its buffers, and
/// neither waits for one nor creates another. A buffer is in use until its copy is done and, for a
/// read, its [`ReadTicket`](crate::ReadTicket) was dropped. A forgotten ticket keeps its buffer.
///
/// One thread uses it at a time (`&mut`), for any number of graphs of its context. Tickets may be
/// sent to other threads, and may outlive it. Its drop waits for the pending copies of its buffers;
/// a ticket that is dropped later waits for its own.
pub struct StagingPool {
    /// The available buffers, in the order of their return: the first ones are done first.
    idle: Vec<PageLocked>,
    returned: Arc<ReturnBox>,
    config: StagingConfig,
    context: Arc<CudaContext>,
}

/// The returned buffers, until the pool takes them.
#[derive(Debug)]
struct ReturnBox(Mutex<Inbox>);

/// The returned buffers. The list has capacity for all buffers of its pool.
#[derive(Debug)]
struct Inbox {
    buffers: Vec<PageLocked>,
    /// `true` once the pool was dropped.
    is_closed: bool,
}

/// A buffer in use, until this is dropped.
#[derive(Debug)]
pub(super) struct TakenBuffer {
    /// The page-locked memory; `None` while the buffer is being dropped.
    buffer: Option<PageLocked>,
    returned: Arc<ReturnBox>,
}

impl StagingPool {
    /// Allocates the buffers, in a context that must be that of the graphs.
    ///
    /// # Errors
    ///
    /// The driver's error code, and an error if the host has no memory for the records. The
    /// exception is the small allocation of a counted pointer, whose failure aborts the process. No
    /// later operation of the pool allocates.
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

    /// Returns the size that the pool was created with.
    #[must_use]
    pub fn config(&self) -> StagingConfig {
        self.config
    }

    /// Returns the context of the pool's buffers.
    #[must_use]
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// Takes a buffer whose copies are done. Waits for nothing and allocates nothing.
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
                    // A lost buffer stays lost, which matters only if no other buffer can be
                    // returned.
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
    /// The only infallible allocation of a pool. It is a separate function, so that a trace shows
    /// its name.
    #[inline(never)]
    fn counted(inbox: Inbox) -> Arc<Self> {
        Arc::new(Self(Mutex::new(inbox)))
    }
}

impl TakenBuffer {
    /// Returns the bytes of the buffer; empty while a copy may be pending.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        let bytes = self.buffer.as_mut().and_then(PageLocked::bytes_mut);
        bytes.unwrap_or_default()
    }

    /// Enqueues a copy of the buffer's first bytes to the device.
    ///
    /// # Safety
    ///
    /// The device's range must be of the stream's context, allocated, and of that length. The
    /// caller must own the right to write it in the stream's order. The buffer must have just been
    /// taken, with at least `bytes` bytes.
    pub(super) unsafe fn copy_to_device(
        &mut self,
        to: u64,
        bytes: usize,
        stream: &Arc<CudaStream>,
    ) -> Result<(), CudaError> {
        let Some(buffer) = &mut self.buffer else { return Ok(()) };
        // SAFETY: the caller's promise; a buffer that was just taken is not busy.
        unsafe { buffer.copy_to_device(to, bytes, stream) }
    }

    /// Enqueues a copy from the device to the buffer's first bytes.
    ///
    /// # Safety
    ///
    /// Same as for [`copy_to_device`](Self::copy_to_device), with the right to read.
    pub(super) unsafe fn copy_to_host(
        &mut self,
        from: u64,
        bytes: usize,
        stream: &Arc<CudaStream>,
    ) -> Result<(), CudaError> {
        let Some(buffer) = &mut self.buffer else { return Ok(()) };
        // SAFETY: as above.
        unsafe { buffer.copy_to_host(from, bytes, stream) }
    }

    /// Returns `true` if the copies from and to the buffer are done.
    pub(super) fn is_done(&mut self) -> Result<bool, CudaError> {
        self.buffer.as_mut().map_or(Ok(true), PageLocked::is_free)
    }

    /// Waits for the copies from and to the buffer.
    pub(super) fn wait(&mut self) -> Result<(), CudaError> {
        self.buffer.as_mut().map_or(Ok(()), PageLocked::wait)
    }
}

/// Returns the buffer to the pool, even with a pending copy. If the pool was dropped, waits for the
/// copies and frees the buffer.
impl Drop for TakenBuffer {
    fn drop(&mut self) {
        let mut buffer = self.buffer.take();
        let mut inbox = self.returned.0.lock();
        if !inbox.is_closed {
            inbox.buffers.extend(buffer.take());
        }
        // In this order: the rest is freed without the lock.
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
