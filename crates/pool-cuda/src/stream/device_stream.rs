//! One stream of one device, which is the context of a pool. The pool enqueues all its work on this
//! stream, which orders the reuse of each block without events.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;

use cudarc::driver::CudaStream;
use pool_core::BlockWatch;
use pool_driver::calls;
use pool_driver::capture::is_capturing;
use pool_driver::context::{bind, check_context};
use pool_driver::default_stream::refuse_per_thread;
use pool_driver::error::CudaError;
use pool_driver::leftovers::{Place, give_back_leftovers};

use crate::stream::announced_streams::announce;
use crate::stream::block_free::{DeferredFrees, OrphanBlocks};
use crate::stream::block_source::BlockSource;
use crate::stream::device::CudaDevice;
use crate::stream::holders::Holder;
use crate::stream::other_streams::OtherStreams;
use crate::stream::shape_cells::ShapeCells;
use crate::stream::staging::Staging;
use crate::stream::thread;

/// The device of a pool's memory and the stream of its work.
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
/// If the host is out of memory, calls fail with [`CudaError::Bookkeeping`]. Dropping a value
/// allocates nothing. There are two exceptions: cudarc's internal allocations, and the `Arc`s that
/// are allocated when a [`CudaDevice`] or a value of this type is created. In these cases the
/// process aborts, as usual in Rust.
///
/// A pool may move to another thread, and may be dropped on any thread. Before each driver call, a
/// pool makes its context current on the thread, and does not restore the previous one.
pub struct DeviceStream {
    // Fields are dropped in this order: notes of other streams, page-locked memory, stream, device.
    other_streams: OtherStreams,
    staging: Staging,
    deferred: DeferredFrees,
    /// The position reserved in the process's list of deferred frees for blocks that the pool
    /// leaves behind. It is empty only during the drop.
    place: Option<Place<OrphanBlocks>>,
    shapes: Arc<ShapeCells>,
    /// The first error of a call that could not return an error.
    unanswered: Cell<Option<CudaError>>,
    /// The source of blocks, used in place of the device.
    source: Option<Box<dyn BlockSource>>,
    /// The data about this pool that other pools can read; `None` if blocks come from a source.
    holder: Option<Arc<Holder>>,
    /// `true` if idle blocks have just been freed, which means that the next failing allocation is
    /// the last attempt.
    is_last_attempt: Cell<bool>,
    /// The observer of blocks.
    watch: Option<Box<dyn BlockWatch + Send>>,
    stream: Arc<CudaStream>,
    device: CudaDevice,
}

// SAFETY: every field is `Send` or belongs to the driver.
// The driver's calls may be made from any thread once the context is current, which each method
// ensures.
// The value is never shared, because it contains a `Cell`.
unsafe impl Send for DeviceStream {}

impl CudaDevice {
    /// Creates a stream on the device, as the context of a pool.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Call`] if the driver refuses to create a stream.
    pub fn new_stream(&self) -> Result<DeviceStream, CudaError> {
        DeviceStream::new(self, self.raw_stream()?)
    }
}

/// The same as [`DeviceStream::from_stream`]: `Pool::<Cuda>::new(stream.try_into()?)`.
impl TryFrom<Arc<CudaStream>> for DeviceStream {
    type Error = CudaError;

    fn try_from(stream: Arc<CudaStream>) -> Result<Self, CudaError> {
        Self::from_stream(stream)
    }
}

impl DeviceStream {
    /// Wraps a stream that was created elsewhere, together with the device of its context.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Call`] if the driver refuses to create a memory pool.
    pub fn from_stream(stream: Arc<CudaStream>) -> Result<Self, CudaError> {
        let device = CudaDevice::of_context(Arc::clone(stream.context()))?;
        Self::new(&device, stream)
    }

    /// Wraps a stream of this device, using the device's memory pool.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::WrongDevice`] for a stream of another device. Returns
    /// [`CudaError::WrongContext`] for a stream of another context, and for the per-thread default
    /// stream, which is a different stream on each thread.
    pub fn new(device: &CudaDevice, stream: Arc<CudaStream>) -> Result<Self, CudaError> {
        check_context(device.context(), &stream)?;
        refuse_per_thread(&stream)?;
        Self::build(device.clone(), stream, None)
    }

    /// Wraps a stream whose pool obtains its blocks from a source. Use it for captured streams, and
    /// for eager work in borrowed memory.
    ///
    /// If the source is [captured](BlockSource::is_captured), operations that would wait on the
    /// host, or copy host memory without an owner, fail with [`CudaError::Capturing`] without
    /// calling the driver. These are [`synchronize`](Self::synchronize), copies to the host, and
    /// copies of slices from the host. Fills, copies on the device, shapes and launches work.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::WrongContext`] for the per-thread default stream.
    pub fn from_source(
        stream: Arc<CudaStream>,
        source: impl BlockSource,
    ) -> Result<Self, CudaError> {
        refuse_per_thread(&stream)?;
        let device = CudaDevice::without_allocations(Arc::clone(stream.context()));
        Self::build(device, stream, Some(Box::new(source)))
    }

    fn build(
        device: CudaDevice,
        stream: Arc<CudaStream>,
        source: Option<Box<dyn BlockSource>>,
    ) -> Result<Self, CudaError> {
        let place = Place::new()?;
        let holder = match source {
            None => Some(Arc::new(Holder::new(&device))),
            Some(_) => None,
        };
        holder.as_ref().map_or(Ok(()), Holder::register)?;
        announce(&stream);
        Ok(Self {
            other_streams: OtherStreams::default(),
            staging: Staging::default(),
            deferred: DeferredFrees::default(),
            place: Some(place),
            shapes: Arc::default(),
            unanswered: Cell::new(None),
            source,
            holder,
            is_last_attempt: Cell::new(false),
            watch: None,
            stream,
            device,
        })
    }

    /// Registers an observer of every block of the pool. The observer can refuse blocks.
    #[must_use]
    pub fn watched(mut self, watch: impl BlockWatch + Send) -> Self {
        self.watch = Some(Box::new(watch));
        self
    }

    /// Returns the device, the stream, and the watch of the blocks.
    pub(crate) fn into_parts(
        mut self,
    ) -> (CudaDevice, Arc<CudaStream>, Option<Box<dyn BlockWatch + Send>>) {
        (self.device.clone(), Arc::clone(&self.stream), self.watch.take())
    }

    pub(crate) fn watch(&self) -> Option<&(dyn BlockWatch + Send)> {
        self.watch.as_deref()
    }

    /// Returns the stream of this thread on its [chosen](crate::Cuda::set_device) device. The first
    /// call creates the stream, which lives until the thread ends. All pools of the thread share
    /// the stream, so that one launch can use views of several pools as arguments.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Cuda::device`](crate::Cuda::device) and [`CudaDevice::new_stream`].
    pub fn for_thread() -> Result<Self, CudaError> {
        let (device, stream) = thread::device_and_stream()?;
        Self::new(&device, stream)
    }

    /// Sets the calling thread's stream for the device of `stream`. New pools use it.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::WrongContext`] for the per-thread default stream,
    /// [`CudaError::Bookkeeping`] if the host is out of memory, and [`CudaError::Call`] if the
    /// driver refuses to create a memory pool.
    pub fn set_for_thread(stream: Arc<CudaStream>) -> Result<(), CudaError> {
        thread::set_stream(stream)
    }

    /// Returns `true` if this is the stream that [`for_thread`](Self::for_thread) would return.
    #[must_use]
    pub fn is_for_thread(&self) -> bool {
        thread::is_stream(&self.device, &self.stream)
    }

    /// Returns the stream's device.
    #[must_use]
    pub fn device(&self) -> &CudaDevice {
        &self.device
    }

    /// Returns cudarc's stream.
    #[must_use]
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Blocks the host until all work of the stream is done.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Call`] if the wait or earlier work has failed, and
    /// [`CudaError::Capturing`] if the pool has a captured [source](Self::from_source).
    pub fn synchronize(&self) -> Result<(), CudaError> {
        self.refuse_with_source("be waited for")?;
        calls::synchronize(&self.stream)
    }

    /// Takes the error of an infallible call, such as a free, a trim, or a pointer returned through
    /// cudarc's traits. If several errors occurred since the last take, this returns the first one.
    /// Later calls do not return it again.
    #[must_use]
    pub fn take_unanswered(&self) -> Option<CudaError> {
        self.unanswered.take()
    }

    /// Enables or disables the ordering of other streams that use the pool's memory.
    ///
    /// # Safety
    ///
    /// While the ordering is disabled, the caller must order each use on another stream. The use
    /// must come after the earlier work on the pool's stream, and before the pool's later uses of
    /// the memory.
    pub unsafe fn order_foreign_streams(&self, on: bool) {
        self.other_streams.set_on(on);
    }

    /// Orders the stream after all current work of all other streams that use memory of its pool.
    ///
    /// The pool does this implicitly for each block that it reuses. Call this method at the end of
    /// a capture, or of a section of a capture, because all streams must have been joined by then.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Capturing`] if one stream is captured and another is not, and
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
    pub(crate) fn holder(&self) -> Option<&Holder> {
        self.holder.as_deref()
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

    /// Returns the pool's source if the pool's stream is captured.
    pub(crate) fn captured_source(&self) -> Option<&dyn BlockSource> {
        self.source().filter(|source| source.is_captured())
    }

    /// Returns `true` if the pool enqueues no work and its addresses refer to no memory.
    pub(crate) fn is_dry(&self) -> bool {
        self.source().is_some_and(BlockSource::is_dry)
    }

    /// Checks that the memory of both pools belongs to the same owner with regard to graphs. Pools
    /// that are not captured have no owner.
    pub(crate) fn check_owner(&self, other: &Self) -> Result<(), CudaError> {
        let owner = |stream: &Self| stream.captured_source().map(BlockSource::owner);
        if owner(self) == owner(other) {
            return Ok(());
        }
        Err(CudaError::Capturing { operation: "copy memory that the graph does not own" })
    }

    /// Asks the source to admit another stream, which will be ordered after this one and thereby
    /// join the capture. Returns `false` if there is no captured source.
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

    /// Makes the device's context current. Refuses an operation that cannot become part of a graph
    /// if the stream is captured.
    pub(crate) fn bind_outside_capture(&self, operation: &'static str) -> Result<(), CudaError> {
        self.refuse_with_source(operation)?;
        match is_capturing(&self.stream)? {
            true => Err(CudaError::Capturing { operation }),
            false => Ok(()),
        }
    }

    /// Stores the error of an infallible call. The first error wins.
    pub(crate) fn keep_unanswered(&self, result: Result<(), CudaError>) {
        if let Err(error) = result {
            let first = self.unanswered.get().unwrap_or(error);
            self.unanswered.set(Some(first));
        }
    }
}

/// Frees the pool's remaining blocks and the blocks of its shapes. If the stream is captured, or
/// the driver refuses, the blocks are freed later.
///
/// Blocks of a [source](BlockSource) are not returned to the driver. They are part of the source's
/// memory, such as a graph's arena, which may still be used after the pool has ended. That memory
/// is freed with the source.
impl Drop for DeviceStream {
    fn drop(&mut self) {
        give_back_leftovers();
        if self.source.is_some() {
            return;
        }
        // The pool has ended, and so have all views through which a shape could be used. Work that
        // used a shape is in this stream, or was ordered before the end of the stream when the slot
        // of its view was freed.
        let (slabs, addresses) = (self.shapes.take_slabs(), self.deferred.take());
        if slabs.is_empty() && addresses.is_empty() {
            return;
        }
        let Some(place) = self.place.take() else { return };
        let orphans = place.own(OrphanBlocks {
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
