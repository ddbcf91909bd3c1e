//! Page-locked buffers that a replay is fed through: a fixed number of them, all made when the pool is, and taken
//! in the order in which they came back. What a buffer is, and when it is free again, is `pool-driver`'s [`PageLocked`], as
//! for the staged copies of `pool-cuda`; here nothing is made or waited for after the pool was made.
//!
//! A buffer is used again once the event behind its last copy has come, which is asked when one is wanted. So
//! nothing rests on a destructor: who drops what holds a buffer gives it back, whatever is still to be copied;
//! who forgets it keeps it. Under the lock of what came back there is only moving.

use std::fmt;
use std::mem;
use std::sync::Arc;

use parking_lot::Mutex;
use pool_core::reserve;
use pool_driver::cudarc::driver::{CudaContext, CudaStream};
use pool_driver::error::CudaError;
use pool_driver::page_locked::PageLocked;

use crate::capture::error::CaptureError;

/// How large a [`StagingPool`] is.
///
/// ```
/// use pool_graph::StagingConfig;
///
/// // Three steps in flight, each with one input and one output of up to 4096 bytes.
/// let config = StagingConfig { buffers: 3 * 2, bytes: 4096 };
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StagingConfig {
    /// How many buffers there are: one for each write and each read that is in flight at one time.
    pub buffers: usize,
    /// The bytes of each: those of the largest write or read.
    pub bytes: usize,
}

/// Pooled page-locked memory, through which [`enqueue_write`](crate::CapturedGraph::enqueue_write) and
/// [`enqueue_read`](crate::CapturedGraph::enqueue_read) copy without waiting for the device.
///
/// All of it is allocated in [`with_config`](Self::with_config); a copy takes one of its buffers, and neither waits for one nor
/// makes another. A buffer is out until its copy is done and, for a read, its
/// [`ReadTicket`](crate::ReadTicket) was dropped. A ticket that is forgotten keeps its buffer.
///
/// One thread has it at a time (`&mut`), for any number of graphs of its context. Tickets may go to other threads, and
/// outlive it. Dropped, it waits for the copies that go through its buffers; a ticket that is dropped after it waits
/// for its own.
pub struct StagingPool {
    /// The buffers that are not out, in the order in which they came back: the first are the first to be done.
    idle: Vec<PageLocked>,
    returned: Arc<ReturnBox>,
    config: StagingConfig,
    context: Arc<CudaContext>,
}

/// Where buffers come back to, until the pool takes them in.
#[derive(Debug)]
struct ReturnBox(Mutex<Inbox>);

/// The buffers that came back. The list has room for all buffers of its pool.
#[derive(Debug)]
struct Inbox {
    buffers: Vec<PageLocked>,
    /// Whether the pool is gone.
    is_closed: bool,
}

/// A buffer that is out, until this is dropped.
#[derive(Debug)]
pub(super) struct TakenBuffer {
    /// The page-locked memory; none once the buffer is being dropped.
    buffer: Option<PageLocked>,
    returned: Arc<ReturnBox>,
}

impl StagingPool {
    /// Allocates the buffers, in a context that must be that of the graphs.
    ///
    /// # Errors
    ///
    /// What the driver refuses, and where the host has no memory for the bookkeeping. Excepted are the few bytes of a
    /// counted pointer, without which the process ends; nothing else that is done with the pool takes any.
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

    /// The size that the pool was made with.
    #[must_use]
    pub fn config(&self) -> StagingConfig {
        self.config
    }

    /// The context of the pool's buffers.
    #[must_use]
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }

    /// A buffer whose copies are done. Waits for nothing and allocates nothing.
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
                    // What is lost stays so, and matters only where no other buffer can come back.
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
    /// The one allocation of a pool that cannot be refused. By itself, so that a trace has its name.
    #[inline(never)]
    fn counted(inbox: Inbox) -> Arc<Self> {
        Arc::new(Self(Mutex::new(inbox)))
    }
}

impl TakenBuffer {
    /// The bytes of the buffer; none while a copy may be pending.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        let bytes = self.buffer.as_mut().and_then(PageLocked::bytes_mut);
        bytes.unwrap_or_default()
    }

    /// Enqueues a copy of the buffer's first bytes to the device.
    ///
    /// # Safety
    ///
    /// The device's range is of the stream's context, allocated and as long, and writing it in the stream's order
    /// is the caller's right. The buffer was just taken, and has as many bytes.
    pub(super) unsafe fn copy_to_device(
        &mut self,
        to: u64,
        bytes: usize,
        stream: &Arc<CudaStream>,
    ) -> Result<(), CudaError> {
        let Some(buffer) = &mut self.buffer else { return Ok(()) };
        // SAFETY: the caller's promise; what was just taken is not busy.
        unsafe { buffer.copy_to_device(to, bytes, stream) }
    }

    /// Enqueues a copy from the device to the buffer's first bytes.
    ///
    /// # Safety
    ///
    /// As for [`copy_to_device`](Self::copy_to_device), with reading.
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

    /// Whether the copies from and to the buffer are done.
    pub(super) fn is_done(&mut self) -> Result<bool, CudaError> {
        self.buffer.as_mut().map_or(Ok(true), PageLocked::is_free)
    }

    /// Waits for the copies from and to the buffer.
    pub(super) fn wait(&mut self) -> Result<(), CudaError> {
        self.buffer.as_mut().map_or(Ok(()), PageLocked::wait)
    }
}

/// Gives the buffer back to the pool, whatever is still to be copied. Where the pool is gone, the copies are waited
/// for and the buffer is freed.
impl Drop for TakenBuffer {
    fn drop(&mut self) {
        let mut buffer = self.buffer.take();
        let mut inbox = self.returned.0.lock();
        if !inbox.is_closed {
            inbox.buffers.extend(buffer.take());
        }
        // In this order: what is left is freed without the lock.
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
