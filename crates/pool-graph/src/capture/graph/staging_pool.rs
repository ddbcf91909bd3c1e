//! Page-locked buffers that feed replays. The pool creates a fixed number of buffers when it is
//! created, and reuses them in the order in which they are returned. The buffers are [`PageLocked`]
//! values from `pool-driver`, which also track when a copy has ended. The staged copies of
//! `pool-cuda` use the same type. After creation, no method of the pool creates a buffer or waits
//! for one.
//!
//! A buffer is reused once the event after its last copy has completed. The event is queried when a
//! buffer is needed, so reuse does not depend on a destructor. Dropping the holder of a buffer
//! returns the buffer, even if a copy is pending. A forgotten holder keeps the buffer. The lock on
//! the returned buffers is held only while buffers are moved.

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
    /// The number of buffers. Each write and each read that is in flight at the same time needs
    /// one.
    pub buffers: usize,
    /// The size of each buffer in bytes. It must be that of the largest write or read.
    pub bytes: usize,
}

/// A pool of page-locked buffers, through which
/// [`enqueue_write`](crate::CapturedGraph::enqueue_write) and
/// [`enqueue_read`](crate::CapturedGraph::enqueue_read) copy without waiting for the device.
///
/// [`with_config`](Self::with_config) allocates all buffers. Each copy takes one of them, and
/// neither waits for a buffer nor creates another. A buffer is in use until its copy has completed
/// and, for a read, its [`ReadTicket`](crate::ReadTicket) has been dropped. A forgotten ticket
/// keeps its buffer.
///
/// One thread uses the pool at a time (`&mut`), for any number of graphs in the pool's context.
/// Tickets may be sent to other threads, and may outlive the pool. Dropping the pool waits for the
/// pending copies of its buffers. A ticket that is dropped later waits for its own copy.
pub struct StagingPool {
    /// The available buffers, in the order in which they were returned. The copies of the first
    /// ones complete first.
    idle: Vec<PageLocked>,
    returned: Arc<ReturnBox>,
    config: StagingConfig,
    context: Arc<CudaContext>,
}

/// The returned buffers, until the pool takes them back.
#[derive(Debug)]
struct ReturnBox(Mutex<Inbox>);

/// The list of returned buffers. Its capacity is enough for all buffers of the pool.
#[derive(Debug)]
struct Inbox {
    buffers: Vec<PageLocked>,
    /// `true` once the pool has been dropped.
    is_closed: bool,
}

/// A buffer in use. Dropping this value returns the buffer.
#[derive(Debug)]
pub(super) struct TakenBuffer {
    /// The page-locked memory; `None` while the buffer is being dropped.
    buffer: Option<PageLocked>,
    returned: Arc<ReturnBox>,
}

impl StagingPool {
    /// Allocates the buffers in a context. The pool can only feed graphs of the same context.
    ///
    /// # Errors
    ///
    /// Fails with the driver's error code, or if the host cannot allocate the records. The small
    /// allocation of a reference-counted pointer is an exception: if it fails, the process aborts.
    /// No later method of the pool allocates memory.
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

    /// Takes a buffer whose copies have completed. Waits for nothing and allocates nothing.
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
                    // A lost buffer stays lost. This matters only if no other buffer can be
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
    /// The only allocation of a pool that cannot report a failure. It has its own function, so that
    /// a stack trace shows its name.
    #[inline(never)]
    fn counted(inbox: Inbox) -> Arc<Self> {
        Arc::new(Self(Mutex::new(inbox)))
    }
}

impl TakenBuffer {
    /// Returns the buffer's bytes, or an empty slice while a copy may be pending.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        let bytes = self.buffer.as_mut().and_then(PageLocked::bytes_mut);
        bytes.unwrap_or_default()
    }

    /// Enqueues a copy of the buffer's first bytes to the device.
    ///
    /// # Safety
    ///
    /// The device range must be allocated in the stream's context and have that length. The caller
    /// must have the right to write the range in stream order. The buffer must have just been
    /// taken, and must hold at least `bytes` bytes.
    pub(super) unsafe fn copy_to_device(
        &mut self,
        to: u64,
        bytes: usize,
        stream: &Arc<CudaStream>,
    ) -> Result<(), CudaError> {
        let Some(buffer) = &mut self.buffer else { return Ok(()) };
        // SAFETY: the caller promises that the device range is valid and may be written in stream
        // order. The buffer was just taken, so no copy uses it.
        unsafe { buffer.copy_to_device(to, bytes, stream) }
    }

    /// Enqueues a copy from the device to the buffer's first bytes.
    ///
    /// # Safety
    ///
    /// The same as for [`copy_to_device`](Self::copy_to_device), except that the caller must have
    /// the right to read the range.
    pub(super) unsafe fn copy_to_host(
        &mut self,
        from: u64,
        bytes: usize,
        stream: &Arc<CudaStream>,
    ) -> Result<(), CudaError> {
        let Some(buffer) = &mut self.buffer else { return Ok(()) };
        // SAFETY: the caller promises that the device range is valid and may be read in stream
        // order. The buffer was just taken, so no copy uses it.
        unsafe { buffer.copy_to_host(from, bytes, stream) }
    }

    /// Returns `true` if the copies from and to the buffer have completed.
    pub(super) fn is_done(&mut self) -> Result<bool, CudaError> {
        self.buffer.as_mut().map_or(Ok(true), PageLocked::is_free)
    }

    /// Waits for the copies from and to the buffer.
    pub(super) fn wait(&mut self) -> Result<(), CudaError> {
        self.buffer.as_mut().map_or(Ok(()), PageLocked::wait)
    }
}

/// Returns the buffer to the pool, even if a copy is pending. If the pool has been dropped, waits
/// for the copies and frees the buffer.
impl Drop for TakenBuffer {
    fn drop(&mut self) {
        let mut buffer = self.buffer.take();
        let mut inbox = self.returned.0.lock();
        if !inbox.is_closed {
            inbox.buffers.extend(buffer.take());
        }
        // The order matters: the remaining parts are freed after the lock has been released.
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
