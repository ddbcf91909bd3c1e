//! Wraps a device's stream, which serves as a pool's context. The pool enqueues all of its work on
//! this stream. The stream orders every reuse of a block, so the pool does not need events.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use cudarc::driver::CudaStream;
use pool_core::BlockWatch;
use pool_driver::calls;
use pool_driver::capture::is_capturing;
use pool_driver::context::{bind, check_context};
use pool_driver::default_stream::refuse_per_thread;
use pool_driver::deferred_frees::{QueueEntry, retry_deferred_frees};
use pool_driver::error::CudaError;

use crate::stream::block_free::{DeferredFrees, OrphanBlocks};
use crate::stream::block_source::BlockSource;
use crate::stream::device::CudaDevice;
use crate::stream::holders::Holder;
use crate::stream::other_streams::OtherStreams;
use crate::stream::registered_streams::register_stream;
use crate::stream::shape_cells::ShapeCells;
use crate::stream::staging::Staging;
use crate::stream::thread;

/// The device whose memory a pool uses, and the stream on which the pool enqueues its work.
///
/// ```no_run
/// use pool_core::{Pool, PoolView};
/// use pool_cuda::Cuda;
///
/// let device = Cuda::device(0)?;
/// let mut pool = Pool::<Cuda>::new(device.new_stream()?);
/// let scope = pool.scope();
/// let ones = scope.acquire_filled(1000, 1.0_f32);
/// assert_eq!(ones.copy_to_vec()?, [1.0; 1000]);
/// # Ok::<(), pool_cuda::CudaError>(())
/// ```
///
/// If the host runs out of memory, calls fail with [`CudaError::Bookkeeping`]. Dropping a
/// `DeviceStream` never allocates. As is usual in Rust, the process aborts if cudarc's internal
/// allocations fail. The process also aborts if the `Arc` for a new [`CudaDevice`] or
/// [`DeviceStream`] cannot be allocated.
///
/// A pool can be moved to another thread and dropped on any thread. Before each driver call, the
/// pool makes its context current on the calling thread. The pool does not restore the previous
/// context after the call.
pub struct DeviceStream {
    // The fields are dropped in this order: the uses by other streams, the page-locked memory, the
    // stream, and the device.
    other_streams: OtherStreams,
    staging: Staging,
    deferred: DeferredFrees,
    /// The reserved entry in the process's queue of deferred frees, for blocks that cannot be freed
    /// when the pool is dropped. The entry is `None` only while the stream is being dropped.
    entry: Option<QueueEntry<OrphanBlocks>>,
    shapes: Arc<ShapeCells>,
    /// The first error that could not be returned to a caller.
    pending_error: Cell<Option<CudaError>>,
    /// The source that provides blocks in place of the device.
    source: Option<Box<dyn BlockSource>>,
    /// The data about this pool that other pools can read, or `None` if a source provides the
    /// pool's blocks.
    holder: Option<Arc<Holder>>,
    /// `true` if the pool has just freed its idle blocks. If the next allocation fails, the stream
    /// releases memory elsewhere in the process before it retries the allocation.
    is_last_attempt: Cell<bool>,
    /// The watch that is notified whenever the pool allocates or frees a block.
    watch: Option<Box<dyn BlockWatch + Send>>,
    stream: Arc<CudaStream>,
    device: CudaDevice,
}

// SAFETY: every field either is `Send` or contains a driver handle. The driver can be called from
// any thread on which the context is current. Each method first makes the context current. The
// value cannot be shared between threads, because it contains a `Cell`.
unsafe impl Send for DeviceStream {}

impl CudaDevice {
    /// Creates a stream on the device for use as a pool's context.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Call`] if the driver refuses to create a stream.
    pub fn new_stream(&self) -> Result<DeviceStream, CudaError> {
        DeviceStream::new(self, self.raw_stream()?)
    }
}

/// Converts a stream into a pool's context, just like [`DeviceStream::from_stream`]. For example,
/// `Pool::<Cuda>::new(stream.try_into()?)` creates a pool on the stream.
impl TryFrom<Arc<CudaStream>> for DeviceStream {
    type Error = CudaError;

    fn try_from(stream: Arc<CudaStream>) -> Result<Self, CudaError> {
        Self::from_stream(stream)
    }
}

impl DeviceStream {
    /// Wraps a stream created by other code. The pool's memory comes from the device of the
    /// stream's context.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Call`] if the driver refuses to create a memory pool.
    pub fn from_stream(stream: Arc<CudaStream>) -> Result<Self, CudaError> {
        let device = CudaDevice::of_context(Arc::clone(stream.context()))?;
        Self::new(&device, stream)
    }

    /// Wraps a stream on this device. The pool allocates its blocks from the device's memory pool.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::WrongDevice`] if the stream belongs to another device. Returns
    /// [`CudaError::WrongContext`] if the stream belongs to another context. The function also
    /// returns this error for the per-thread default stream, because each thread has a different
    /// one.
    pub fn new(device: &CudaDevice, stream: Arc<CudaStream>) -> Result<Self, CudaError> {
        check_context(device.context(), &stream)?;
        refuse_per_thread(&stream)?;
        Self::build(device.clone(), stream, None, None)
    }

    /// Creates the context of a pool that counts its memory in `holder`. The stream must be on the
    /// holder's device and must not be the per-thread default stream.
    pub(crate) fn with_holder(
        holder: Arc<Holder>,
        stream: Arc<CudaStream>,
    ) -> Result<Self, CudaError> {
        Self::build(holder.device().clone(), stream, None, Some(holder))
    }

    /// Wraps a stream whose pool allocates its blocks from a source. Use this function for a stream
    /// that is being captured. You can also use this function outside a capture, for work on
    /// borrowed memory.
    ///
    /// If the source is [captured](BlockSource::is_captured), the pool can neither block the host
    /// nor copy from host memory that the source cannot keep alive. With a captured source,
    /// [`synchronize`](Self::synchronize), copies to the host, and copies from host slices fail
    /// with [`CudaError::Capturing`]. The pool rejects these operations without calling the driver.
    /// Fills, device-to-device copies, shapes, and launches still work.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::WrongContext`] if the stream is the per-thread default stream.
    pub fn from_source(
        stream: Arc<CudaStream>,
        source: impl BlockSource,
    ) -> Result<Self, CudaError> {
        refuse_per_thread(&stream)?;
        let device = CudaDevice::without_allocations(Arc::clone(stream.context()));
        Self::build(device, stream, Some(Box::new(source)), None)
    }

    /// Creates a context. If there is neither a source nor a holder, the new pool gets its own
    /// holder.
    fn build(
        device: CudaDevice,
        stream: Arc<CudaStream>,
        source: Option<Box<dyn BlockSource>>,
        holder: Option<Arc<Holder>>,
    ) -> Result<Self, CudaError> {
        let entry = QueueEntry::new()?;
        let holder = match (holder, &source) {
            (None, None) => {
                let holder = Arc::new(Holder::new(&device));
                holder.register()?;
                Some(holder)
            }
            (holder, _) => holder,
        };
        register_stream(&stream);
        Ok(Self {
            other_streams: OtherStreams::default(),
            staging: Staging::default(),
            deferred: DeferredFrees::default(),
            entry: Some(entry),
            shapes: Arc::default(),
            pending_error: Cell::new(None),
            source,
            holder,
            is_last_attempt: Cell::new(false),
            watch: None,
            stream,
            device,
        })
    }

    /// Registers a watch that is notified of each of the pool's blocks. The watch can refuse
    /// blocks.
    #[must_use]
    pub fn watched(mut self, watch: impl BlockWatch + Send) -> Self {
        self.watch = Some(Box::new(watch));
        self
    }

    /// Removes and returns the watch for the pool's blocks.
    pub(crate) fn take_watch(&mut self) -> Option<Box<dyn BlockWatch + Send>> {
        self.watch.take()
    }

    pub(crate) fn watch(&self) -> Option<&(dyn BlockWatch + Send)> {
        self.watch.as_deref()
    }

    /// Returns the calling thread's stream on the device that the thread has
    /// [selected](crate::Cuda::set_device). The first call creates this stream, which exists until
    /// the thread ends. All of the thread's pools share this stream, so one launch can use views
    /// from several pools.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Cuda::device`](crate::Cuda::device) and
    /// [`CudaDevice::new_stream`].
    pub fn for_thread() -> Result<Self, CudaError> {
        let (device, stream) = thread::device_and_stream()?;
        Self::new(&device, stream)
    }

    /// Sets the stream that the calling thread uses on `stream`'s device. All pools that the thread
    /// later creates on this device use this stream.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::WrongContext`] for the per-thread default stream. Returns
    /// [`CudaError::Bookkeeping`] if the host is out of memory, or [`CudaError::Call`] if the
    /// driver refuses to create a memory pool.
    pub fn set_for_thread(stream: Arc<CudaStream>) -> Result<(), CudaError> {
        thread::set_stream(stream)
    }

    /// Returns `true` if [`for_thread`](Self::for_thread) would return this stream.
    #[must_use]
    pub fn is_for_thread(&self) -> bool {
        thread::is_stream(&self.device, &self.stream)
    }

    /// Returns the stream's device.
    #[must_use]
    pub fn device(&self) -> &CudaDevice {
        &self.device
    }

    /// Returns the stream as a cudarc type.
    #[must_use]
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Blocks the host until all work on the stream has completed.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Call`] if the wait fails, or if earlier work on the stream failed.
    /// Returns [`CudaError::Capturing`] if the pool has a captured [source](Self::from_source).
    pub fn synchronize(&self) -> Result<(), CudaError> {
        self.refuse_with_source("be waited for")?;
        calls::synchronize(&self.stream)
    }

    /// Removes and returns the first error that an earlier call could not return. Calls that free
    /// or trim memory, or that request pointers through cudarc's traits, cannot return errors. If
    /// several errors have occurred since the last call, this method returns the first one. Each
    /// error is returned at most once.
    #[must_use]
    pub fn take_pending_error(&self) -> Option<CudaError> {
        self.pending_error.take()
    }

    /// Enables or disables the automatic ordering of other streams that use the pool's memory.
    ///
    /// # Safety
    ///
    /// If ordering is disabled, the caller must order every use of the memory by other streams.
    /// Each use must follow all earlier work on the pool's stream and precede the pool's later uses
    /// of the memory.
    pub unsafe fn order_foreign_streams(&self, on: bool) {
        self.other_streams.set_on(on);
    }

    /// Makes the pool's stream wait for all work enqueued on the other streams that use the pool's
    /// memory.
    ///
    /// Before the pool reuses a block, it also waits automatically for the other streams that use
    /// the block. Call this method before you end a capture or a section of a capture. Before a
    /// capture can end, all other captured streams must have joined the stream on which the capture
    /// began.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Capturing`] if only some of the streams are being captured. Returns
    /// [`CudaError::Call`] if the driver fails to order the streams.
    pub fn join_other_streams(&self) -> Result<(), CudaError> {
        self.other_streams.join_all(&self.stream)
    }

    pub(crate) fn other_streams(&self) -> &OtherStreams {
        &self.other_streams
    }

    pub(crate) fn deferred(&self) -> &DeferredFrees {
        &self.deferred
    }

    /// Returns the data about this pool that other pools can read.
    pub(crate) fn holder(&self) -> Option<&Arc<Holder>> {
        self.holder.as_ref()
    }

    pub(crate) fn is_last_attempt(&self) -> &Cell<bool> {
        &self.is_last_attempt
    }

    pub(crate) fn staging(&self) -> &Staging {
        &self.staging
    }

    pub(crate) fn shapes(&self) -> &Arc<ShapeCells> {
        &self.shapes
    }

    pub(crate) fn source(&self) -> Option<&dyn BlockSource> {
        self.source.as_deref()
    }

    /// Returns the pool's source if the pool's stream is being captured.
    pub(crate) fn captured_source(&self) -> Option<&dyn BlockSource> {
        self.source().filter(|source| source.is_captured())
    }

    /// Returns `true` if the pool enqueues no work and its addresses do not refer to real memory.
    pub(crate) fn is_dry(&self) -> bool {
        self.source().is_some_and(BlockSource::is_dry)
    }

    /// Checks that both pools' memory has the same owner. If a pool's stream is not being captured,
    /// its memory has no owner.
    pub(crate) fn check_owner(&self, other: &Self) -> Result<(), CudaError> {
        let owner = |stream: &Self| stream.captured_source().map(BlockSource::owner);
        if owner(self) == owner(other) {
            return Ok(());
        }
        Err(CudaError::Capturing { operation: "copy memory that the graph does not own" })
    }

    /// Asks the source whether another stream may join the capture. The stream joins the capture
    /// when it waits for the pool's stream. Returns `false` if there is no captured source.
    pub(crate) fn admit(&self, other: &CudaStream) -> Result<bool, CudaError> {
        match self.captured_source() {
            None => Ok(false),
            Some(source) if source.is_dry() => {
                Err(CudaError::Capturing { operation: "use memory of a dry run on a real stream" })
            }
            Some(source) => source.admit(other).map(|()| true),
        }
    }

    fn refuse_with_source(&self, operation: &'static str) -> Result<(), CudaError> {
        match self.captured_source() {
            Some(_) => Err(CudaError::Capturing { operation }),
            None => Ok(()),
        }
    }

    /// Makes the device's context current on the calling thread.
    pub(crate) fn bind(&self) -> Result<(), CudaError> {
        bind(self.device.context())
    }

    /// Makes the device's context current. Returns an error if the stream is being captured,
    /// because the operation cannot become part of a graph.
    pub(crate) fn bind_outside_capture(&self, operation: &'static str) -> Result<(), CudaError> {
        self.refuse_with_source(operation)?;
        match is_capturing(&self.stream)? {
            true => Err(CudaError::Capturing { operation }),
            false => Ok(()),
        }
    }

    /// Stores an error that the failed call cannot return. Only the first error is kept.
    pub(crate) fn keep_pending_error(&self, result: Result<(), CudaError>) {
        if let Err(error) = result {
            let first = self.pending_error.get().unwrap_or(error);
            self.pending_error.set(Some(first));
        }
    }
}

/// Frees the pool's remaining blocks and the blocks that contain shapes. If the stream is captured
/// or the driver refuses to free the blocks, the blocks are freed later.
///
/// This destructor does not free blocks from a [source](BlockSource), because they are part of the
/// source's memory, such as a graph's arena. The source frees its memory later, because work might
/// still use this memory after the pool has been dropped.
impl Drop for DeviceStream {
    fn drop(&mut self) {
        retry_deferred_frees();
        if self.source.is_some() {
            return;
        }
        // No view that could use a shape still exists, because views borrow from the pool. All work
        // that used a shape was enqueued on this stream or is ordered before later work on this
        // stream. When the pool freed the slots of the views, it ordered all work that used the
        // shapes.
        let (slabs, addresses) = (self.shapes.take_slabs(), self.deferred.take());
        if slabs.is_empty() && addresses.is_empty() {
            return;
        }
        let Some(entry) = self.entry.take() else { return };
        let orphans = entry.own(OrphanBlocks {
            addresses,
            slabs,
            other_streams: std::mem::take(&mut self.other_streams),
            stream: Arc::clone(&self.stream),
            device: self.device.clone(),
        });
        drop(orphans);
    }
}

impl fmt::Debug for DeviceStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceStream")
            .field("device", &self.device)
            .field("stream", &self.stream.cu_stream())
            .finish_non_exhaustive()
    }
}
